# cmake --install: program, static and shared library, public headers, CMake package, catalogue,
# manual page, licence. tests/consumer builds against the result.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS rooftile rooftile_shared EXPORT rooftile_targets)
if(TARGET rooftile_cli)
  install(TARGETS rooftile_cli)
endif()
install(DIRECTORY include/rooftile TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/rooftile
        PATTERN ".*" EXCLUDE PATTERN "*.md" EXCLUDE)
install(FILES docs/man/rooftile.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE CITATION.cff TYPE DOC)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rooftile)
install(EXPORT rooftile_targets NAMESPACE rooftile:: FILE rooftile_targets.cmake
        DESTINATION ${package_folder})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/rooftile-config.cmake @ONLY CONTENT
"include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(Threads)
include(\"\${CMAKE_CURRENT_LIST_DIR}/rooftile_targets.cmake\")
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rooftile-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rooftile-config.cmake
              ${PROJECT_BINARY_DIR}/rooftile-config-version.cmake DESTINATION ${package_folder})
