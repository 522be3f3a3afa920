// Kernels on the host, in place of src/device/nvcc/launch_kernel.cuh: what nvcc knows by itself, and a launch as two
// loops. A kernel of CUDA is then an ordinary function that a sanitizer can watch.
#pragma once

#include "machine.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <type_traits>
#include <utility>

namespace pb::device::cuda {

struct Index {
    unsigned x = 0;
};
inline Index blockIdx, threadIdx, blockDim, gridDim;

// Rounded once, to nearest even, and never contracted: compile with -ffp-contract=off.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline unsigned __float2uint_rn(float value) { return static_cast<unsigned>(std::nearbyint(value)); }

inline unsigned atomicAdd(unsigned* sum, unsigned added) { return std::exchange(*sum, *sum + added); }

template <class Argument>
void add_pointer(fakes::KernelPointers& pointers, const Argument& argument) {
    if constexpr (std::is_pointer_v<Argument>)
        pointers.emplace_back(argument, !std::is_const_v<std::remove_pointer_t<Argument>>);
}

template <class... Parameters>
void launch_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
                   std::type_identity_t<Parameters>... arguments) {
    fakes::KernelPointers pointers;
    (add_pointer<std::remove_cv_t<Parameters>>(pointers, arguments), ...);
    fakes::enqueue_kernel(stream, blocks, threads, pointers, [=] {
        gridDim.x = blocks;
        blockDim.x = threads;
        for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(arguments...);
    });
}

}  // namespace pb::device::cuda
