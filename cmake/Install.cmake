# cmake --install: the program and, in share/patchbench, what it and its users look for; include/patchbench, the libraries
# behind it, and a CMake package with the target patchbench::patchbench. LibTorch stays where it was at the build.
include(GNUInstallDirs)
set_target_properties(patchbench PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/patchbench;${PATCHBENCH_RPATH}")
install(TARGETS patchbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(_data ${CMAKE_INSTALL_DATADIR}/patchbench)
install(DIRECTORY python DESTINATION ${_data} FILES_MATCHING PATTERN "*.py")
install(DIRECTORY engines DESTINATION ${_data} FILES_MATCHING PATTERN "*.py")
install(DIRECTORY models DESTINATION ${_data} FILES_MATCHING PATTERN "*.yaml" PATTERN "*.safetensors" PATTERN "*.pth")
install(PROGRAMS models/get_weights.sh DESTINATION ${_data}/models)
install(DIRECTORY data DESTINATION ${_data} USE_SOURCE_PERMISSIONS)
install(DIRECTORY configs DESTINATION ${_data} PATTERN "gpu_check" EXCLUDE)
install(PROGRAMS launch/bind.sh launch/ranks.sh launch/engines.sh DESTINATION ${_data}/launch)
install(FILES launch/common.sh launch/slurm.sbatch launch/pbs.sh launch/lsf.sh DESTINATION ${_data}/launch)
install(DIRECTORY launch/modulefiles DESTINATION ${_data}/launch)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

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
