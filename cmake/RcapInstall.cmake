# find_package(rcap) gives rcap::core; bin/ gets the program with everything it starts.

include(CMakePackageConfigHelpers)

install(TARGETS rcap_core EXPORT rcap-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/rcap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(RCAP_CLI)
  install(TARGETS rcap_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(RCAP_CLI AND RCAP_TRAIN)
  set(torch_programs rcap_train_program rcap_model_program rcap_figure_program)
  # They find LibTorch where they were linked with it.
  set_target_properties(${torch_programs} PROPERTIES INSTALL_RPATH ${TORCH_INSTALL_PREFIX}/lib)
  install(TARGETS ${torch_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(rcap_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rcap)
install(EXPORT rcap-targets NAMESPACE rcap:: DESTINATION ${rcap_package_dir})
configure_package_config_file(cmake/rcap-config.cmake.in rcap-config.cmake
  INSTALL_DESTINATION ${rcap_package_dir})
write_basic_package_version_file(rcap-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rcap-config.cmake ${PROJECT_BINARY_DIR}/rcap-config-version.cmake
  DESTINATION ${rcap_package_dir})
