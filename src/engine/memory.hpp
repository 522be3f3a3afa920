// The engine's allocator: its counters, its cap, and buffers taken from it, so that all device memory of a point is
// counted and capped together. On the CPU a counting allocator provides peaks and out-of-memory errors without a GPU.
#pragma once

#include "patchbench/base/device_id.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pb::engine {

struct AllocatorCounters {
    int64_t allocated_bytes = 0;
    int64_t peak_allocated_bytes = 0;
    int64_t reserved_bytes = 0;  // including freed memory kept for reuse; CPU: never above peak_allocated_bytes
    int64_t peak_reserved_bytes = 0;
    /// Since the process started. CUDA: allocations on the device (constant while the cache suffices). CPU: every
    /// tensor and buffer, including activations.
    int64_t num_allocations = 0;
};

[[nodiscard]] AllocatorCounters allocator_counters(DeviceId device);

/// Sets the peaks to the memory allocated now. CPU: also empties the cache.
void reset_allocator_peaks(DeviceId device);

/// Sets a cap in bytes on the allocator; 0 removes it. Allocations beyond it throw OutOfMemory. CPU: exact for tensors
/// and buffers of the engine (without oneDNN's own scratch memory). CUDA: limits the reserved memory of the caching
/// allocator.
void set_memory_limit(DeviceId device, int64_t bytes);

/// Limits the memory while it exists. 0 MiB: no limit.
class MemoryCap {
  public:
    MemoryCap(DeviceId device, int64_t mib) : device_(device) { set_memory_limit(device_, mib * 1024 * 1024); }
    ~MemoryCap() { set_memory_limit(device_, 0); }
    MemoryCap(const MemoryCap&) = delete;
    MemoryCap& operator=(const MemoryCap&) = delete;

  private:
    DeviceId device_;
};

/// Returns freed memory that was kept for reuse, so that the next point starts without any.
void empty_allocator_cache(DeviceId device);

/// Memory from the engine's allocator on `device`, 64-byte aligned. Throws OutOfMemory. CUDA: it may be used on any
/// stream, so synchronise before freeing it.
class EngineBuffer {
  public:
    EngineBuffer() = default;
    EngineBuffer(DeviceId device, size_t bytes);
    EngineBuffer(EngineBuffer&&) noexcept = default;
    EngineBuffer& operator=(EngineBuffer&&) noexcept = default;
    [[nodiscard]] void* pointer() const { return memory_.get(); }

  private:
    std::shared_ptr<void> memory_;
};

/// Counts memory of the host that lies elsewhere, as if the allocator had given it: this process's part of what several
/// processes share. Throws OutOfMemory beyond the cap.
class CountedPart {
  public:
    explicit CountedPart(int64_t bytes);
    ~CountedPart();
    CountedPart(const CountedPart&) = delete;
    CountedPart& operator=(const CountedPart&) = delete;

  private:
    int64_t bytes_;
};

}  // namespace pb::engine
