// The engine's allocator: its counters, its cap, and buffers taken from it, so that everything a point needs on a
// device is counted and capped in one place. On the CPU a counting allocator makes peaks and out-of-memory real without
// a GPU.
#pragma once

#include "patchbench/base/device_id.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pb {

struct AllocatorCounters {
    int64_t allocated_bytes = 0;
    int64_t peak_allocated_bytes = 0;
    int64_t reserved_bytes = 0;  // with freed memory kept for reuse; CPU: never above the peak of allocated
    int64_t peak_reserved_bytes = 0;
    /// Since the process started. CUDA: memory asked of the device (equal before and after: nothing was allocated).
    /// CPU: every tensor and buffer, activations included.
    int64_t num_allocations = 0;
    int64_t num_retries = 0;  // CUDA: cudaMalloc that failed first and succeeded after a flush
};

[[nodiscard]] AllocatorCounters allocator_counters(DeviceId device);

/// Peaks start again from what is allocated now. CPU: empties the cache, too.
void reset_allocator_peaks(DeviceId device);

/// Cap in bytes on what the allocator may hold; 0 lifts it. Beyond it: OutOfMemory. CPU: exact, counted on the engine's
/// tensors and buffers (oneDNN's own scratch memory is not seen). CUDA: the caching allocator's reserved memory.
void set_memory_limit(DeviceId device, int64_t bytes);

/// Returns freed memory that was kept for reuse, so that the next point starts from nothing.
void empty_allocator_cache(DeviceId device);

/// Memory from the engine's allocator on `device`, 64-byte aligned. Throws OutOfMemory. CUDA: it may be used on any
/// stream, so free it only when the work on it is done (synchronise first).
class EngineBuffer {
  public:
    EngineBuffer();
    EngineBuffer(DeviceId device, size_t bytes);
    ~EngineBuffer();
    EngineBuffer(EngineBuffer&&) noexcept;
    EngineBuffer& operator=(EngineBuffer&&) noexcept;
    [[nodiscard]] void* pointer() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb
