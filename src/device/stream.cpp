#include "patchbench/device/stream.hpp"

#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace pb::device {

namespace {

constexpr std::align_val_t kAlignment{64};

std::byte* allocate_on_host(size_t bytes) {
    auto* pointer = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
    if (pointer == nullptr) throw OutOfMemory(fmt::format("host memory: no {} bytes for a buffer", bytes));
    return pointer;
}

void copy(void* to, const void* from, size_t bytes, cuda::Direction direction, Stream& stream) {
    if (bytes == 0) return;
    if (stream.device().is_cuda())
        cuda::copy(to, from, bytes, direction, stream.native());
    else
        std::memcpy(to, from, bytes);
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

Stream::Stream(DeviceId device)
    : device_(device), handle_(device.is_cuda() ? cuda::make_stream(device.index) : nullptr) {}

void Stream::Destroy::operator()(void* stream) const noexcept { cuda::destroy_stream(stream); }

void Stream::wait(const Event& event) {
    require(device_.is_cuda() == (event.native() != nullptr), "a stream waits for an event of another kind of device");
    if (device_.is_cuda()) cuda::wait(native(), event.native());
}

void Stream::synchronise() {
    if (device_.is_cuda()) cuda::synchronise_stream(native());
}

Event::Event(DeviceId device) : handle_(device.is_cuda() ? cuda::make_event(device.index) : nullptr) {}

void Event::Destroy::operator()(void* event) const noexcept { cuda::destroy_event(event); }

void Event::record(Stream& stream) {
    require(stream.device().is_cuda() == (native() != nullptr), "an event is recorded on another kind of device");
    if (native() != nullptr)
        cuda::record(native(), stream.native());
    else
        time_ = std::chrono::steady_clock::now();
}

void Event::synchronise() const {
    if (native() != nullptr) cuda::synchronise_event(native());
}

double Event::seconds_since(const Event& start) const {
    require((native() != nullptr) == (start.native() != nullptr), "two events of different kinds of device");
    if (native() != nullptr) return cuda::seconds_between(start.native(), native());
    require(time_ && start.time_, "seconds between events of which one was never recorded");
    return std::chrono::duration<double>(*time_ - *start.time_).count();
}

void copy_to_device(void* device, const void* host, size_t bytes, Stream& stream) {
    copy(device, host, bytes, cuda::Direction::to_device, stream);
}

void copy_to_host(void* host, const void* device, size_t bytes, Stream& stream) {
    copy(host, device, bytes, cuda::Direction::to_host, stream);
}

void copy_on_device(void* to, const void* from, size_t bytes, Stream& stream) {
    copy(to, from, bytes, cuda::Direction::on_device, stream);
}

}  // namespace pb::device
