// LibTorch's CPU allocator with a counter and a cap: peaks and out-of-memory become as real on a CPU as on a GPU.
#pragma once

#include "engine/memory.hpp"
#include "engine/torch/block_cache.hpp"

#include <c10/core/Allocator.h>

#include <mutex>

namespace pb::torch_engine {

/// 64-byte aligned memory from posix_memalign; large blocks are offered to transparent huge pages. Large freed blocks
/// are kept for reuse as long as all that is held stays below the peak of what was allocated: the process never grows
/// for them. Thread-safe.
class CountingAllocator final : public c10::Allocator {
  public:
    /// Throws c10::OutOfMemoryError beyond the cap or when the host has no more.
    c10::DataPtr allocate(size_t bytes) override;
    c10::DeleterFnPtr raw_deleter() const override;
    void copy_data(void* destination, const void* source, std::size_t bytes) const override;

    [[nodiscard]] AllocatorCounters counters() const;
    /// Frees what is kept for reuse, too: it was below the old peak, not below the new one.
    void reset_peaks();
    void set_limit(int64_t bytes);
    void empty_cache();
    void release(void* block);

  private:
    void* reserve(int64_t bytes);

    mutable std::mutex mutex_;
    AllocatorCounters counters_;
    BlockCache cache_;
    int64_t limit_bytes_ = 0;  // 0: none
};

/// The one allocator of the process; the first call installs it as LibTorch's. It must come before the first tensor,
/// so everything of this engine that makes tensors calls it.
CountingAllocator& counting_allocator();

}  // namespace pb::torch_engine
