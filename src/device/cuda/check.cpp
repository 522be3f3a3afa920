#include "device/cuda/check.hpp"

#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <string>

namespace pb::device {

void check(cudaError_t status, std::source_location where) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    const std::string message =
        fmt::format("CUDA: {}, {}, at {}", cudaGetErrorName(status), cudaGetErrorString(status), place_text(where));
    if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
    throw Error(message);
}

cuda::DeviceScope::DeviceScope(int index) {
    check(cudaGetDevice(&former_));
    if (index == former_) return;
    check(cudaSetDevice(index));
    changed_ = true;
}

}  // namespace pb::device
