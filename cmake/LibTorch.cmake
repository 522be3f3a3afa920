# LibTorch from a `torch==2.11.0` wheel: PATCHBENCH_TORCH is the folder `torch` itself (default: the one in .venv).
# Targets: LibTorch::cpu, LibTorch::cuda, LibTorch::nccl, LibTorch::cudart. The wheel's own CUDA, cuDNN and NCCL
# libraries are linked by file name: a second copy of another version would leave symbols undefined.
# TorchConfig.cmake is not used: it searches for a whole CUDA toolkit and probes for a GPU.
set(PATCHBENCH_TORCH "$ENV{PATCHBENCH_TORCH}" CACHE PATH "The folder `torch` of an installed torch==2.11.0")
if(NOT PATCHBENCH_TORCH)
    file(GLOB _torch_folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
    if(_torch_folders)
        list(GET _torch_folders 0 PATCHBENCH_TORCH)
    endif()
endif()
if(NOT EXISTS "${PATCHBENCH_TORCH}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "No LibTorch in '${PATCHBENCH_TORCH}': run launch/setup.sh, or pass -DPATCHBENCH_TORCH=<torch folder>")
endif()
file(STRINGS ${PATCHBENCH_TORCH}/version.py _version REGEX "^__version__")
if(NOT _version MATCHES "2\\.11\\.0")
    message(FATAL_ERROR "${PATCHBENCH_TORCH} is not torch 2.11.0 (${_version}): other versions bring another NCCL and cuDNN")
endif()
get_filename_component(PATCHBENCH_SITE ${PATCHBENCH_TORCH} DIRECTORY)
set(PATCHBENCH_NVIDIA ${PATCHBENCH_SITE}/nvidia)

function(pb_import_library name file)
    add_library(LibTorch::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(LibTorch::${name} PROPERTIES IMPORTED_LOCATION ${file} IMPORTED_NO_SONAME FALSE)
endfunction()

pb_import_library(c10 ${PATCHBENCH_TORCH}/lib/libc10.so)
pb_import_library(torch_cpu ${PATCHBENCH_TORCH}/lib/libtorch_cpu.so)
add_library(LibTorch::cpu INTERFACE IMPORTED GLOBAL)
target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    ${PATCHBENCH_TORCH}/include ${PATCHBENCH_TORCH}/include/torch/csrc/api/include)
target_link_libraries(LibTorch::cpu INTERFACE LibTorch::torch_cpu LibTorch::c10)

if(PATCHBENCH_CUDA)
    pb_import_library(cudart ${PATCHBENCH_NVIDIA}/cu13/lib/libcudart.so.13)
    target_include_directories(LibTorch::cudart SYSTEM INTERFACE ${PATCHBENCH_NVIDIA}/cu13/include)
    pb_import_library(nccl ${PATCHBENCH_NVIDIA}/nccl/lib/libnccl.so.2)
    target_include_directories(LibTorch::nccl SYSTEM INTERFACE ${PATCHBENCH_NVIDIA}/nccl/include)
    pb_import_library(cudnn ${PATCHBENCH_NVIDIA}/cudnn/lib/libcudnn.so.9)
    target_include_directories(LibTorch::cudnn SYSTEM INTERFACE ${PATCHBENCH_NVIDIA}/cudnn/include)
    pb_import_library(nvrtc ${PATCHBENCH_NVIDIA}/cu13/lib/libnvrtc.so.13)
    pb_import_library(c10_cuda ${PATCHBENCH_TORCH}/lib/libc10_cuda.so)
    add_library(LibTorch::cuda INTERFACE IMPORTED GLOBAL)
    # libtorch_cuda registers its kernels when it is loaded; nothing refers to it, so it must be kept by force.
    target_link_libraries(LibTorch::cuda INTERFACE LibTorch::cpu LibTorch::c10_cuda LibTorch::cudart LibTorch::cudnn
        "-Wl,--push-state,--no-as-needed,${PATCHBENCH_TORCH}/lib/libtorch_cuda.so,--pop-state")
    # Headers only, of the wheel nvidia-cudnn-frontend. Without them layers run unfused.
    file(GLOB _venv_includes ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/include)
    find_path(PATCHBENCH_CUDNN_FRONTEND cudnn_frontend.h NO_DEFAULT_PATH
        PATHS ${PATCHBENCH_SITE}/include ${_venv_includes}
        DOC "The folder of cudnn_frontend.h")
    if(PATCHBENCH_CUDNN_FRONTEND)
        add_library(LibTorch::cudnn_frontend INTERFACE IMPORTED GLOBAL)
        target_include_directories(LibTorch::cudnn_frontend SYSTEM INTERFACE ${PATCHBENCH_CUDNN_FRONTEND})
        target_link_libraries(LibTorch::cudnn_frontend INTERFACE LibTorch::cudnn LibTorch::nvrtc LibTorch::cudart)
    else()
        message(WARNING "No cudnn_frontend.h: layers will not be fused on GPUs (fusion: on). launch/setup.sh fetches it")
    endif()
endif()
file(GLOB _nvidia_lib_folders ${PATCHBENCH_NVIDIA}/*/lib)
set(PATCHBENCH_RPATH ${PATCHBENCH_TORCH}/lib ${_nvidia_lib_folders})
set(CMAKE_BUILD_RPATH ${PATCHBENCH_PLUGINS} ${PATCHBENCH_RPATH})
# RPATH, not RUNPATH, which serves only what the program itself asks for: libnvrtc opens libnvrtc-builtins by name, and
# without it cuDNN does without the kernels that it compiles at run time, in silence.
add_link_options(-Wl,--disable-new-dtags)
# What libtorch_cuda itself needs is found through these, too, when the linker checks it.
foreach(_folder ${PATCHBENCH_RPATH})
    add_link_options(-Wl,-rpath-link,${_folder})
endforeach()
