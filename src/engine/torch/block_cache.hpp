// Freed blocks kept for the next layer: maps of activations live for one layer, come in few sizes, and each new one
// costs the kernel's zeroing of its pages (5-10 % of a DnCNN). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace pb::torch_engine {

class BlockCache {
  public:
    BlockCache() = default;
    BlockCache(const BlockCache&) = delete;
    BlockCache& operator=(const BlockCache&) = delete;
    ~BlockCache() { shrink_to(0); }

    /// A block of exactly `bytes`, which the caller owns from then on; null when there is none.
    [[nodiscard]] void* take(int64_t bytes);

    /// Takes a block over that std::free may free.
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

}  // namespace pb::torch_engine
