# Defences for a program that reads files from anywhere. What the linker does is the same in every
# build: position-independent programs, relocations bound and made read-only at the start. What costs
# compile time belongs to optimised builds: canaries on the stack and checked calls of the C library.
# Sanitizers bring their own. tests/hardening looks at the result; the micro-kernels of characterize
# go without (src/characterize/CMakeLists.txt), because they are what is measured.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

set(ROOFTILE_HARDENED OFF)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT ROOFTILE_SANITIZE)
  set(ROOFTILE_HARDENED ON)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>"
                      "$<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()
