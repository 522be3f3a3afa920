#include "comm/rows/staged_channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace pb::comm {
namespace {

constexpr size_t kSlotBytes = size_t{64} << 20;
constexpr size_t kLargestChunk = size_t{8} << 20;
constexpr size_t kSmallestChunk = size_t{64} << 10;
constexpr size_t kCopyPiece = size_t{1} << 20;  // copying it takes about ten times as long as starting a thread
constexpr size_t kMostThreads = 4;              // one core copies more slowly than a fast network delivers

using Pieces = std::vector<std::function<void()>>;

/// Runs all pieces, on this thread and a few others.
void run_in_parallel(const Pieces& pieces) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
        for (size_t i = next++; i < pieces.size(); i = next++) pieces[i]();
    };
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(kMostThreads, pieces.size()); ++i) others.emplace_back(work);
    work();
}

/// Adds the copies between the next bytes of `stream` and `chunk` to `pieces`, and advances the stream past them.
void add_pieces(RowStream& stream, std::span<std::byte> chunk, bool fills_rows, Pieces& pieces) {
    for (size_t begin = 0; begin < chunk.size(); begin += kCopyPiece) {
        const auto piece = chunk.subspan(begin, std::min(kCopyPiece, chunk.size() - begin));
        pieces.emplace_back([at = stream, piece, fills_rows]() mutable {
            if (fills_rows)
                at.write(piece);
            else
                at.read(piece);
        });
        stream.skip(piece.size());
    }
}

/// Moves one chunk of each unfinished transfer per round.
class Rounds {
  public:
    Rounds(StagingLink& link, std::span<const RowTransfer> transfers, bool receives)
        : link_(link), receives_(receives) {
        for (const RowTransfer& transfer : transfers) {
            from_.push_back(transfer.from);
            streams_.emplace_back(transfer.rows);
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
    /// The chunks of the next round, filled on a sender. Empty when nothing is left.
    [[nodiscard]] std::vector<Chunk> load(size_t slot) {
        std::vector<Chunk> chunks;
        Pieces copies;
        for (size_t lane = 0; lane < from_.size(); ++lane) {
            const size_t bytes = std::min(link_.chunk_bytes(), left_[lane]);
            if (bytes == 0) continue;
            left_[lane] -= bytes;
            const std::span<std::byte> chunk = link_.buffer(slot, lane).first(bytes);
            if (!receives_) add_pieces(streams_[lane], chunk, false, copies);
            chunks.push_back({receives_ ? from_[lane] : 0, !receives_, chunk});
        }
        run_in_parallel(copies);
        return chunks;
    }

    void unload(size_t slot) {
        Pieces copies;
        for (const Chunk& chunk : moving_[slot]) {
            const auto lane = std::ranges::find(from_, chunk.peer) - from_.begin();
            add_pieces(streams_[static_cast<size_t>(lane)], chunk.bytes, true, copies);
        }
        run_in_parallel(copies);
    }

    StagingLink& link_;
    bool receives_;
    std::vector<int> from_;
    std::vector<RowStream> streams_;
    std::vector<size_t> left_;  // bytes that no round has taken yet
    std::array<std::vector<Chunk>, StagingLink::kSlots> moving_;
};

}  // namespace

void transfer_staged(StagingLink& link, std::span<const RowTransfer> transfers, bool receives) {
    Rounds(link, transfers, receives).run();
}

size_t staged_chunk_bytes(size_t num_lanes) {
    return std::clamp(kSlotBytes / std::max<size_t>(num_lanes, 1), kSmallestChunk, kLargestChunk);
}

}  // namespace pb::comm
