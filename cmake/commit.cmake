# The commit that the program says it was built from (rooftile/version.h), as one generated source
# file. The file is looked at when something that goes into the program or the commit itself has
# changed, and rewritten only if its text is another one: a build without changes does nothing.
set(ROOFTILE_COMMIT_SOURCES CMakeLists.txt cmake data include src web/dist)

function(rooftile_commit)
  set(generated ${PROJECT_BINARY_DIR}/generated/commit.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake)
  find_package(Git QUIET)
  list(JOIN ROOFTILE_COMMIT_SOURCES "," paths)
  set(run ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE=${PROJECT_SOURCE_DIR} -DPATHS=${paths}
          -DOUTPUT=${generated} -P ${script})
  execute_process(COMMAND ${run} COMMAND_ERROR_IS_FATAL ANY)
  target_sources(rooftile_core PRIVATE ${generated})
  if(NOT GIT_EXECUTABLE)
    return()
  endif()
  # Every commit and checkout is logged; in a linked work tree the log lies elsewhere.
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE log
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(log "${log}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS "${log}" OR IS_DIRECTORY "${log}")
    return() # no checkout
  endif()
  list(TRANSFORM ROOFTILE_COMMIT_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE roots)
  list(TRANSFORM roots APPEND /* OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${globs})
  string(SHA256 names "${files}") # a file that was removed is a change, too
  add_custom_command(OUTPUT ${generated} COMMAND ${run} -DNAMES=${names}
                     DEPENDS ${files} ${PROJECT_SOURCE_DIR}/CMakeLists.txt ${log} ${script}
                     COMMENT "Asking git for the commit" VERBATIM)
endfunction()
