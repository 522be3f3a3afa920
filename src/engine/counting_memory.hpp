// Memory of the host with a counter and a cap, for buffers of the engines and for LibTorch on the CPU: peaks and
// out-of-memory errors can be tested without a GPU.
#pragma once

#include "engine/memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace pb::engine {

/// Keeps freed blocks for the next layer. Maps of activations live for one layer and have few sizes, and the kernel
/// must zero the pages of each new one (5-10 % of the time of a DnCNN). Not thread-safe.
class FreeBlocks {
  public:
    FreeBlocks() = default;
    FreeBlocks(const FreeBlocks&) = delete;
    FreeBlocks& operator=(const FreeBlocks&) = delete;
    ~FreeBlocks() { shrink_to(0); }

    /// A block of exactly `bytes`, which the caller then owns; null when there is none.
    [[nodiscard]] void* take(int64_t bytes);

    /// Takes ownership of a block that std::free can free.
    void put(void* block, int64_t bytes);

    /// Frees the oldest blocks until at most `bytes` are held.
    void shrink_to(int64_t bytes);

    [[nodiscard]] int64_t held_bytes() const { return held_bytes_; }

  private:
    struct Entry {
        void* block;
        int64_t bytes;
    };
    std::deque<Entry> entries_;  // oldest first
    int64_t held_bytes_ = 0;
};

/// 64-byte aligned memory from posix_memalign; large blocks are offered to transparent huge pages. Large freed blocks
/// are kept for reuse as long as allocated and kept memory together stay below the peak of allocated memory: they never
/// make the process larger. Thread-safe.
class CountingMemory {
  public:
    /// Null for no bytes. Throws OutOfMemory, whose text says how much there was, beyond the cap or when the host has
    /// no more.
    [[nodiscard]] void* allocate(size_t bytes);
    /// What allocate() gave; null is allowed.
    void release(void* pointer);
    /// Counts memory that was allocated elsewhere. Throws OutOfMemory beyond the cap.
    void count(int64_t bytes);
    /// What count() counted.
    void discount(int64_t bytes);

    [[nodiscard]] AllocatorCounters counters() const;
    /// How often allocate() threw: compiled code passes on that something failed, not what.
    [[nodiscard]] int64_t num_refused() const { return num_refused_; }
    /// Also frees the blocks kept for reuse, since the new peak is lower.
    void reset_peaks();
    void set_limit(int64_t bytes);
    void empty_cache();

  private:
    void add(int64_t bytes);
    void count_allocation();
    [[nodiscard]] void* reserve(int64_t bytes);

    mutable std::mutex mutex_;
    AllocatorCounters counters_;
    FreeBlocks cache_;
    int64_t limit_bytes_ = 0;  // 0: none
    std::atomic<int64_t> num_refused_ = 0;
};

/// The memory of this process.
[[nodiscard]] CountingMemory& counting_memory();

}  // namespace pb::engine
