# What the layers that are installed link, but for LibTorch: packages of the system (Debian 12, Ubuntu 24.04). Part of the
# CMake package, too (patchbenchConfig.cmake.in).
find_package(PkgConfig REQUIRED)
find_package(MPI REQUIRED COMPONENTS C) # the C interface; the C++ one is gone from the standard
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX)
# Debian keeps OpenCVConfig.cmake in libopencv-dev, which pulls in all modules; three are enough.
find_path(OPENCV_INCLUDE opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
foreach(module core imgproc photo)
    find_library(OPENCV_${module} opencv_${module} REQUIRED)
    add_library(OpenCV::${module} INTERFACE IMPORTED GLOBAL)
    target_include_directories(OpenCV::${module} SYSTEM INTERFACE ${OPENCV_INCLUDE})
    target_link_libraries(OpenCV::${module} INTERFACE ${OPENCV_${module}})
endforeach()
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp) # before yaml-cpp 0.8
    add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Threads REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(TIFF REQUIRED)
find_package(Protobuf REQUIRED) # which ONNX's own package does not look for
find_package(ONNX REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(libwebp REQUIRED IMPORTED_TARGET libwebp libwebpmux)
pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET libhwy)
# For sources that Highway compiles once for each instruction set: those between others that make a difference, and those
# whose vectors have no fixed length, are left out.
set(PATCHBENCH_INSTRUCTION_SETS
    "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)")
