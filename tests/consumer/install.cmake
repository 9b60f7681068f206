# cmake -DBUILD=... -DPREFIX=... -P install.cmake: a fresh prefix with everything it promises.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed LIST_DIRECTORIES TRUE RELATIVE ${PREFIX} ${PREFIX}/*)
foreach(promised IN ITEMS "^bin/rooftile$" "/librooftile\\.a$" "/librooftile\\.so$"
        "^include/rooftile/rooftile\\.h$" "/rooftile-config\\.cmake$" "^share/man/man1/rooftile\\.1$"
        "^share/doc/rooftile/LICENSE$" "^share/rooftile/gpus/.*\\.json$")
  set(found ${installed})
  list(FILTER found INCLUDE REGEX "${promised}")
  if(NOT found)
    message(FATAL_ERROR "nothing in the prefix matches ${promised}")
  endif()
endforeach()
