# find_package(rcap) gives rcap::core, pkg-config knows it as rcap; bin/ gets the program with everything it starts.

include(CMakePackageConfigHelpers)

install(TARGETS rcap_core EXPORT rcap-targets)
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

# Paths are relative to the file, since `cmake --install --prefix` may put it anywhere.
set(rcap_pc_to_prefix ${CMAKE_INSTALL_PREFIX})
cmake_path(RELATIVE_PATH rcap_pc_to_prefix BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
set(rcap_pc_definitions "")
if(BUILD_SHARED_LIBS)
  set(rcap_pc_definitions " -DRCAP_SHARED")
endif()
configure_file(cmake/rcap.pc.in rcap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rcap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
