// Memory for transfers: page-locked on the host, and on the device. On the CPU both are plain aligned memory, so that
// the pipeline is written once.
#pragma once

#include "patchbench/base/device_id.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pb::device {

/// Where a buffer lies.
enum class Memory : uint8_t {
    pinned,  ///< host memory, page-locked when the device is a CUDA device (cudaHostAlloc)
    device,  ///< memory of the device (cudaMalloc); host memory on the CPU
};

/// Owns `bytes` of uninitialised memory, aligned to 64 bytes at least. Throws OutOfMemory when there is not so much.
template <Memory kMemory>
class Buffer {
  public:
    Buffer() = default;
    Buffer(DeviceId device, size_t bytes);
    [[nodiscard]] std::byte* pointer() const { return pointer_.get(); }
    [[nodiscard]] size_t bytes() const { return pointer_ ? pointer_.get_deleter().bytes : 0; }
    [[nodiscard]] DeviceId device() const { return pointer_.get_deleter().device; }

  private:
    struct Release {
        DeviceId device;
        size_t bytes = 0;
        void operator()(std::byte* pointer) const noexcept;
    };
    std::unique_ptr<std::byte, Release> pointer_;
};

extern template class Buffer<Memory::pinned>;
extern template class Buffer<Memory::device>;

/// Host memory for asynchronous copies.
using PinnedBuffer = Buffer<Memory::pinned>;

/// What the copies' other end is.
using DeviceBuffer = Buffer<Memory::device>;

}  // namespace pb::device
