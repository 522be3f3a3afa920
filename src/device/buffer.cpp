#include "patchbench/device/buffer.hpp"

#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <new>

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
Buffer<kMemory>::Buffer(DeviceId device, size_t bytes) : pointer_(nullptr, {device, bytes}) {
    if (bytes == 0) return;
    pointer_.reset(device.is_cuda() ? cuda::allocate(kMemory, device.index, bytes) : allocate_on_host(bytes));
}

template <Memory kMemory>
void Buffer<kMemory>::Release::operator()(std::byte* pointer) const noexcept {
    if (device.is_cuda())
        cuda::release(kMemory, pointer);
    else
        ::operator delete(pointer, kAlignment);
}

template class Buffer<Memory::pinned>;
template class Buffer<Memory::device>;

}  // namespace pb::device
