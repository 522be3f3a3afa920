// A cache of the most recently used blocks of a file, limited in bytes. The newest block is kept whatever its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pb::image {

class BlockCache {
  public:
    explicit BlockCache(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

    /// Returns the block's bytes, or nullptr. The pointer is valid until the next call of keep().
    [[nodiscard]] const std::byte* find(uint32_t index) {
        const auto place = places_.find(index);
        if (place == places_.end()) return nullptr;
        blocks_.splice(blocks_.begin(), blocks_, place->second);
        return blocks_.front().bytes.data();
    }

    const std::byte* keep(uint32_t index, std::vector<std::byte> bytes) {
        held_bytes_ += bytes.size();
        while (held_bytes_ > capacity_bytes_ && !blocks_.empty()) drop_oldest();
        blocks_.push_front({index, std::move(bytes)});
        places_[index] = blocks_.begin();
        return blocks_.front().bytes.data();
    }

  private:
    struct Block {
        uint32_t index = 0;
        std::vector<std::byte> bytes;
    };

    void drop_oldest() {
        held_bytes_ -= blocks_.back().bytes.size();
        places_.erase(blocks_.back().index);
        blocks_.pop_back();
    }

    size_t capacity_bytes_;
    size_t held_bytes_ = 0;
    std::list<Block> blocks_;  // newest first
    std::unordered_map<uint32_t, std::list<Block>::iterator> places_;
};

}  // namespace pb::image
