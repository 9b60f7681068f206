# Every header compiles alone. A header whose own .cpp includes it first is proven by that .cpp;
# all others get a generated file that includes nothing else. It is a test that cannot be skipped:
# the build fails.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/tests/*.h)
set(header_sources "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^(src|include|tests)/" "" name ${header})
  string(REGEX REPLACE "\\.h$" ".cpp" source ${PROJECT_SOURCE_DIR}/${header})
  if(EXISTS ${source})
    file(STRINGS ${source} first_include REGEX "^#include" LIMIT_COUNT 1)
    if(first_include STREQUAL "#include \"${name}\"")
      continue()
    endif()
  endif()
  string(REGEX REPLACE "[/.]" "_" stem ${header})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.cpp)
  file(CONFIGURE OUTPUT ${generated} CONTENT "#include \"${name}\"\n#include \"${name}\"\n" @ONLY)
  list(APPEND header_sources ${generated})
endforeach()
add_library(header_test OBJECT ${header_sources})
target_include_directories(header_test PRIVATE ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(header_test PRIVATE -fsyntax-only)
target_link_libraries(header_test PRIVATE rooftile_warnings fmt::fmt nlohmann_json::nlohmann_json
                                          Threads::Threads GTest::gtest)
