# The CUDA language for the device layer: sm_80 (A100), sm_90 (H100, H200), sm_100 (B200) and PTX for what comes after.
# The runtime library is the wheel's own (see LibTorch.cmake), never a second copy.
if(NOT PATCHBENCH_CUDA)
    return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
endif()
enable_language(CUDA)
# After enable_language: the compiler check of CMake 3.25 cannot know the flags of a standard yet.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
