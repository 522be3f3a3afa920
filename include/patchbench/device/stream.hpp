// Streams, events and copies. On the CPU a stream is empty and everything runs inline at the call: what is written for
// a CUDA device can be tested on the CPU.
#pragma once

#include "patchbench/base/device_id.hpp"
#include "patchbench/device/buffer.hpp"

#include <cstddef>
#include <memory>

namespace pb::device {

class Event;

/// An ordered queue of work on one device. Movable; owns the CUDA stream.
class Stream {
  public:
    explicit Stream(DeviceId device);
    ~Stream();
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;

    [[nodiscard]] DeviceId device() const { return device_; }
    /// The cudaStream_t; null on the CPU.
    [[nodiscard]] void* native() const;
    /// Later work of this stream starts after what `event` recorded.
    void wait(const Event& event);
    /// Blocks the host until the work so far is done.
    void synchronise();

  private:
    struct Impl;
    DeviceId device_;
    std::unique_ptr<Impl> impl_;
};

/// A point in a stream's work, with a time stamp. On the CPU: the monotonic clock at `record`.
class Event {
  public:
    explicit Event(DeviceId device);
    ~Event();
    Event(Event&&) noexcept;
    Event& operator=(Event&&) noexcept;

    void record(Stream& stream);
    /// Blocks the host until the recorded point is reached; does not wait when nothing was recorded.
    void synchronise() const;
    /// Seconds from `start` to this event; throws Error unless both are recorded and reached.
    [[nodiscard]] double seconds_since(const Event& start) const;
    [[nodiscard]] void* native() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Asynchronous copies in `stream`'s order; `host` should be pinned. On the CPU a memcpy at the call.
void copy_to_device(void* device, const void* host, size_t bytes, Stream& stream);
void copy_to_host(void* host, const void* device, size_t bytes, Stream& stream);
void copy_on_device(void* to, const void* from, size_t bytes, Stream& stream);

}  // namespace pb::device
