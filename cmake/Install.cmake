# cmake --install: include/patchbench, the libraries behind it, and a CMake package with the target patchbench::patchbench.
# The programs stay where they are built: they find LibTorch by the path that they were linked with.
include(GNUInstallDirs)
set(_libraries pb_base pb_config pb_network pb_plan pb_image pb_device pb_comm pb_checkpoint pb_denoiser pb_engine pb_record pb_run)
add_library(pb_library INTERFACE)
set_target_properties(pb_library PROPERTIES EXPORT_NAME patchbench)
target_link_libraries(pb_library INTERFACE pb_run)
target_compile_features(pb_library INTERFACE cxx_std_20)

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/patchbench)
install(TARGETS pb_library pb_options ${_libraries} EXPORT patchbench
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/patchbench
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT patchbench NAMESPACE patchbench:: DESTINATION ${_package} FILE patchbenchTargets.cmake)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/patchbench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

include(CMakePackageConfigHelpers)
write_basic_package_version_file(patchbenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/patchbenchConfig.cmake.in patchbenchConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/patchbenchConfig.cmake ${PROJECT_BINARY_DIR}/patchbenchConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/LibTorch.cmake ${PROJECT_SOURCE_DIR}/cmake/LibraryDependencies.cmake
    DESTINATION ${_package})
