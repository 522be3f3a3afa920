# Which nvcc: the one named by CMAKE_CUDA_COMPILER, else one beside the LibTorch wheel (PyPI), else the one on PATH.
# Its version must match the wheel's CUDA (13.0): launch/setup.sh installs one that does.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    file(GLOB _wheel_nvcc ${CMAKE_CURRENT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
    if(_wheel_nvcc)
        list(GET _wheel_nvcc 0 CMAKE_CUDA_COMPILER)
    endif()
endif()
