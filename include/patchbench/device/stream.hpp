// Streams, events, copies, and the memory for them: page-locked on the host, and on the device. On the CPU a stream is
// empty, everything runs inline at the call, and memory is plain and aligned: what is written for a CUDA device can be
// tested on the CPU.
#pragma once

#include "patchbench/base/device_id.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

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

class Event;

/// An ordered queue of work on one device. Movable; owns the CUDA stream.
class Stream {
  public:
    explicit Stream(DeviceId device);

    [[nodiscard]] DeviceId device() const { return device_; }
    /// The cudaStream_t; null on the CPU.
    [[nodiscard]] void* native() const { return handle_.get(); }
    /// Later work of this stream starts after what `event` recorded.
    void wait(const Event& event);
    /// Blocks the host until the work so far is done.
    void synchronise();

  private:
    struct Destroy {
        void operator()(void* stream) const noexcept;
    };
    DeviceId device_;
    std::unique_ptr<void, Destroy> handle_;
};

/// A point in a stream's work, with a time stamp. On the CPU: the monotonic clock at `record`.
class Event {
  public:
    explicit Event(DeviceId device);

    void record(Stream& stream);
    /// Blocks the host until the recorded point is reached; does not wait when nothing was recorded.
    void synchronise() const;
    /// Seconds from `start` to this event; throws Error unless both are recorded and reached.
    [[nodiscard]] double seconds_since(const Event& start) const;
    [[nodiscard]] void* native() const { return handle_.get(); }

  private:
    struct Destroy {
        void operator()(void* event) const noexcept;
    };
    std::unique_ptr<void, Destroy> handle_;  // null on the CPU, where `time_` is the record
    std::optional<std::chrono::steady_clock::time_point> time_;
};

/// Asynchronous copies in `stream`'s order; `host` should be pinned. On the CPU a memcpy at the call.
void copy_to_device(void* device, const void* host, size_t bytes, Stream& stream);
void copy_to_host(void* host, const void* device, size_t bytes, Stream& stream);
void copy_on_device(void* to, const void* from, size_t bytes, Stream& stream);

}  // namespace pb::device
