#include "patchbench/device/stream.hpp"

#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

#include <chrono>
#include <cstring>
#include <optional>

namespace pb::device {

using HostClock = std::chrono::steady_clock;

struct Stream::Impl {
    cuda::StreamHandle handle;
};

// On the CPU `handle` is empty and `time` is the record.
struct Event::Impl {
    cuda::EventHandle handle;
    std::optional<HostClock::time_point> time;
};

Stream::Stream(DeviceId device) : device_(device), impl_(std::make_unique<Impl>()) {
    if (device.is_cuda()) impl_->handle = cuda::make_stream(device.index);
}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void* Stream::native() const { return impl_->handle.get(); }

void Stream::wait(const Event& event) {
    require(device_.is_cuda() == (event.native() != nullptr), "a stream waits for an event of another kind of device");
    if (device_.is_cuda()) cuda::wait(native(), event.native());
}

void Stream::synchronise() {
    if (device_.is_cuda()) cuda::synchronise_stream(native());
}

Event::Event(DeviceId device) : impl_(std::make_unique<Impl>()) {
    if (device.is_cuda()) impl_->handle = cuda::make_event(device.index);
}
Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

void* Event::native() const { return impl_->handle.get(); }

void Event::record(Stream& stream) {
    require(stream.device().is_cuda() == (native() != nullptr), "an event is recorded on another kind of device");
    if (native() != nullptr)
        cuda::record(native(), stream.native());
    else
        impl_->time = HostClock::now();
}

void Event::synchronise() const {
    if (native() != nullptr) cuda::synchronise_event(native());
}

double Event::seconds_since(const Event& start) const {
    require((native() != nullptr) == (start.native() != nullptr), "two events of different kinds of device");
    if (native() != nullptr) return cuda::seconds_between(start.native(), native());
    require(impl_->time && start.impl_->time, "seconds between events of which one was never recorded");
    return std::chrono::duration<double>(*impl_->time - *start.impl_->time).count();
}

namespace {

void copy(void* to, const void* from, size_t bytes, cuda::Direction direction, Stream& stream) {
    if (bytes == 0) return;
    if (stream.device().is_cuda())
        cuda::copy(to, from, bytes, direction, stream.native());
    else
        std::memcpy(to, from, bytes);
}

}  // namespace

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
