add_library(rooftile_warnings INTERFACE)
target_compile_options(rooftile_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: a false -Wrestrict inside std::string for `"literal" + string` at -O2 and up.
  target_compile_options(rooftile_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 implements std::stable_sort with a function that it declares deprecated itself.
  target_compile_options(rooftile_warnings INTERFACE -Wno-deprecated-declarations)
endif()
if(ROOFTILE_UNITY)
  # A local name that another file of the batch has, too, hides nothing that its own file can see.
  target_compile_options(rooftile_warnings INTERFACE -Wno-shadow)
endif()
if(ROOFTILE_WERROR)
  target_compile_options(rooftile_warnings INTERFACE -Werror)
endif()
