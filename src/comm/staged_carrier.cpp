#include "staged_carrier.hpp"

#include "row_parts.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace pb {
namespace {

constexpr size_t kSlotBytes = size_t{64} << 20;
constexpr size_t kLargestChunk = size_t{8} << 20;
constexpr size_t kSmallestChunk = size_t{64} << 10;

/// Round by round the next chunk of each shipment that is not at its end.
class Rounds {
  public:
    Rounds(StagingLink& link, std::span<const Shipment> shipments, bool receives) : link_(link), receives_(receives) {
        for (const Shipment& shipment : shipments) {
            from_.push_back(shipment.from);
            streams_.emplace_back(shipment.rows);
            left_.push_back(streams_.back().bytes_left());
        }
    }

    void run() {
        for (size_t round = 0;; ++round) {
            const size_t slot = round % StagingLink::kSlots;
            link_.end(slot);
            if (receives_) unload(slot);
            moving_[slot] = load(slot);
            if (!moving_[slot].empty()) link_.begin(slot, moving_[slot]);
            if (std::ranges::all_of(moving_, [](const auto& chunks) { return chunks.empty(); })) return;
        }
    }

  private:
    /// The chunks of a round; on a sender filled. None when all has been sent.
    [[nodiscard]] std::vector<Chunk> load(size_t slot) {
        std::vector<Chunk> chunks;
        for (size_t lane = 0; lane < from_.size(); ++lane) {
            const size_t bytes = std::min(link_.chunk_bytes(), left_[lane]);
            if (bytes == 0) continue;
            left_[lane] -= bytes;
            const std::span<std::byte> chunk = link_.buffer(slot, lane).first(bytes);
            if (!receives_) streams_[lane].read(chunk);
            chunks.push_back({receives_ ? from_[lane] : 0, !receives_, chunk});
        }
        return chunks;
    }

    void unload(size_t slot) {
        for (const Chunk& chunk : moving_[slot]) {
            const auto lane = std::ranges::find(from_, chunk.peer) - from_.begin();
            streams_[static_cast<size_t>(lane)].write(chunk.bytes);
        }
    }

    StagingLink& link_;
    bool receives_;
    std::vector<int> from_;
    std::vector<RowStream> streams_;
    std::vector<size_t> left_;  // not yet begun
    std::array<std::vector<Chunk>, StagingLink::kSlots> moving_;
};

}  // namespace

void carry_staged(StagingLink& link, std::span<const Shipment> shipments, bool receives) {
    Rounds(link, shipments, receives).run();
}

size_t staged_chunk_bytes(size_t num_lanes) {
    return std::clamp(kSlotBytes / std::max<size_t>(num_lanes, 1), kSmallestChunk, kLargestChunk);
}

}  // namespace pb
