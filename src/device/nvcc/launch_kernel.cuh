// How a kernel is started: the only place with nvcc's own syntax for it. Tests that run kernels on the host have
// another file of this name.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

namespace pb::device::cuda {

/// Enqueues `blocks` blocks of `threads` threads on `stream`, whose device is the current one. A launch that fails is
/// shown by cudaGetLastError.
template <class... Parameters>
void launch_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
                   std::type_identity_t<Parameters>... arguments) {
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace pb::device::cuda
