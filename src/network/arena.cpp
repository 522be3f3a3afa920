#include "network/arena.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace pb::network {

namespace {

/// Order in which blocks are placed.
using Order = std::vector<size_t>;

class Placement {
  public:
    Placement(const std::vector<MemoryBlock>& blocks, int64_t pixels) : blocks_(blocks) {
        for (const MemoryBlock& block : blocks) bytes_.push_back(round_up(block.size.bytes(pixels), kArenaAlignment));
    }

    [[nodiscard]] Order largest_first() const {
        return ordered([&](size_t a, size_t b) { return bytes_[a] > bytes_[b]; });
    }

    /// In the order of the forward call; among blocks that begin together, the one that ends last comes first.
    [[nodiscard]] Order earliest_first() const {
        return ordered([&](size_t a, size_t b) {
            return std::pair(blocks_[a].begin, blocks_[b].end) < std::pair(blocks_[b].begin, blocks_[a].end);
        });
    }

    [[nodiscard]] Arena place(const Order& order) const {
        Arena arena{std::vector<int64_t>(blocks_.size()), 0};
        std::vector<size_t> placed;
        for (const size_t block : order) {
            const int64_t offset = smallest_gap(arena, bytes_[block], beside(arena, placed, block));
            arena.offsets[block] = offset;
            arena.bytes = std::max(arena.bytes, offset + bytes_[block]);
            placed.push_back(block);
        }
        return arena;
    }

  private:
    template <class Before>
    [[nodiscard]] Order ordered(Before before) const {
        Order order(blocks_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), before);
        return order;
    }

    /// Those of `placed` that are live while `block` is, by ascending offset.
    [[nodiscard]] std::vector<size_t> beside(const Arena& arena, const std::vector<size_t>& placed,
                                             size_t block) const {
        std::vector<size_t> others;
        for (const size_t other : placed)
            if (blocks_[other].begin < blocks_[block].end && blocks_[block].begin < blocks_[other].end)
                others.push_back(other);
        std::ranges::sort(others, {}, [&](size_t other) { return arena.offsets[other]; });
        return others;
    }

    /// Offset of the smallest gap between `others` that holds `bytes`; their end when there is none.
    [[nodiscard]] int64_t smallest_gap(const Arena& arena, int64_t bytes, const std::vector<size_t>& others) const {
        int64_t offset = -1, smallest = std::numeric_limits<int64_t>::max(), end = 0;
        for (const size_t other : others) {
            const int64_t gap = arena.offsets[other] - end;
            if (gap >= bytes && gap < smallest) {
                offset = end;
                smallest = gap;
            }
            end = std::max(end, arena.offsets[other] + bytes_[other]);
        }
        return offset < 0 ? end : offset;
    }

    const std::vector<MemoryBlock>& blocks_;
    std::vector<int64_t> bytes_;  // by block
};

}  // namespace

Arena place_blocks(const MemoryPlan& plan, int64_t pixels) {
    const Placement placement(plan.blocks, pixels);
    Arena by_size = placement.place(placement.largest_first());
    Arena by_time = placement.place(placement.earliest_first());
    return by_time.bytes < by_size.bytes ? by_time : by_size;
}

}  // namespace pb::network
