#include "engine/torch/block_cache.hpp"

#include <algorithm>
#include <cstdlib>

namespace pb::torch_engine {

void* BlockCache::take(int64_t bytes) {
    // The latest first: its samples may still be in the processor's caches.
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [bytes](const Entry& entry) { return entry.bytes == bytes; });
    if (found == entries_.rend()) return nullptr;
    void* block = found->block;
    entries_.erase(std::next(found).base());
    held_bytes_ -= bytes;
    return block;
}

void BlockCache::put(void* block, int64_t bytes) {
    entries_.push_back({block, bytes});
    held_bytes_ += bytes;
}

void BlockCache::shrink_to(int64_t bytes) {
    while (held_bytes_ > bytes && !entries_.empty()) {
        std::free(entries_.front().block);
        held_bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
}

}  // namespace pb::torch_engine
