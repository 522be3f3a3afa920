#include "patchbench/device/buffer.hpp"

#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace pb::device {
namespace {

constexpr std::align_val_t kAlignment{64};

std::byte* allocate_on_host(size_t bytes) {
    auto* pointer = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
    if (pointer == nullptr) throw OutOfMemory(fmt::format("host memory: no {} bytes for a buffer", bytes));
    return pointer;
}

}  // namespace

template <Memory kMemory>
Buffer<kMemory>::Buffer(DeviceId device, size_t bytes) : device_(device), bytes_(bytes) {
    if (bytes == 0) return;
    pointer_ = device.is_cuda() ? cuda::allocate(kMemory, device.index, bytes) : allocate_on_host(bytes);
}

template <Memory kMemory>
Buffer<kMemory>::~Buffer() {
    if (pointer_ == nullptr) return;
    if (device_.is_cuda())
        cuda::release(kMemory, pointer_);
    else
        ::operator delete(pointer_, kAlignment);
}

template <Memory kMemory>
Buffer<kMemory>::Buffer(Buffer&& other) noexcept
    : device_(other.device_),
      pointer_(std::exchange(other.pointer_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

template <Memory kMemory>
Buffer<kMemory>& Buffer<kMemory>::operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

template class Buffer<Memory::pinned>;
template class Buffer<Memory::device>;

}  // namespace pb::device
