#include "device/cuda/check.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace pb::device {

void check(cudaError_t status, std::source_location where) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    const std::string_view path = where.file_name();
    const std::string message =
        fmt::format("CUDA: {}, {}, at {}:{} in {}", cudaGetErrorName(status), cudaGetErrorString(status),
                    path.substr(path.rfind('/') + 1), where.line(), where.function_name());
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
