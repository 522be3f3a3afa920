// Rows on their way from ranks to the root: whatever their shape, each byte arrives at its place and no other is
// touched; in messages by MPI, and in chunks through bounded buffers, as NCCL moves them (here MPI moves the chunks).
#include "comm/rows/transfer_channel.hpp"

#include "comm/mpi_calls.hpp"
#include "comm/rows/staged_channel.hpp"
#include "support/messages.hpp"
#include "support/row_place.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace pb::comm {
namespace {

using testing::HasSubstr;

/// Moves chunks by MPI from and to plain memory, and keeps count of what is under way.
class MpiLink final : public StagingLink {
  public:
    MpiLink(const Communicator& ranks, size_t num_lanes, size_t chunk_bytes)
        : ranks_(ranks), num_lanes_(num_lanes), chunk_bytes_(chunk_bytes) {
        for (auto& memory : memory_) memory.resize(num_lanes * chunk_bytes);
    }
    [[nodiscard]] size_t chunk_bytes() const override { return chunk_bytes_; }
    [[nodiscard]] std::span<std::byte> buffer(size_t slot, size_t lane) override {
        require(lane < num_lanes_, "there are so many lanes only");
        require(requests_[slot].empty(), "a buffer is used while its chunk is under way");
        return std::span(memory_[slot]).subspan(lane * chunk_bytes_, chunk_bytes_);
    }
    void begin(size_t slot, std::span<const Chunk> chunks) override {
        require(requests_[slot].empty(), "a slot is begun twice");
        for (const Chunk& chunk : chunks) {
            MPI_Request& request = requests_[slot].emplace_back(MPI_REQUEST_NULL);
            const auto bytes = static_cast<int>(chunk.bytes.size());
            mpi::check(
                chunk.is_sent
                    ? MPI_Isend(chunk.bytes.data(), bytes, MPI_BYTE, chunk.peer, 0, mpi::native(ranks_), &request)
                    : MPI_Irecv(chunk.bytes.data(), bytes, MPI_BYTE, chunk.peer, 0, mpi::native(ranks_), &request));
        }
        const bool both = !requests_[0].empty() && !requests_[1].empty();
        overlapped = overlapped || both;
    }
    void end(size_t slot) override {
        mpi::check(MPI_Waitall(static_cast<int>(requests_[slot].size()), requests_[slot].data(), MPI_STATUSES_IGNORE));
        requests_[slot].clear();
    }

    bool overlapped = false;

  private:
    const Communicator& ranks_;
    size_t num_lanes_, chunk_bytes_;
    std::array<std::vector<std::byte>, kSlots> memory_;
    std::array<std::vector<MPI_Request>, kSlots> requests_;
};

class TransferChannelTest : public testing::Test {
  protected:
    /// All ranks but the root send; `transfer` is given the transfers of this rank.
    template <class Transfer>
    void expect_arrival(const std::vector<std::vector<RowPlace::Shape>>& shapes_of_ranks, Transfer&& transfer) {
        std::vector<RowPlace> places;
        std::vector<RowTransfer> transfers;
        for (int rank = 1; rank < world_.size(); ++rank) {
            if (!world_.is_root() && rank != world_.rank()) continue;
            places.emplace_back(shapes_of_ranks[static_cast<size_t>(rank) % shapes_of_ranks.size()]);
            if (!world_.is_root()) places.back().fill(rank);
            transfers.push_back({rank, places.back().rows()});
        }
        transfer(transfers);
        for (size_t i = 0; i < places.size(); ++i) EXPECT_TRUE(places[i].holds(transfers[i].from)) << transfers[i].from;
        world_.barrier();
    }

    const std::vector<std::vector<std::vector<RowPlace::Shape>>> loads_{
        {one_byte()}, {narrow_rows()}, {narrow_rows(), nothing(), one_byte()}, {beyond_a_message(), narrow_rows()}};
    Communicator world_ = Communicator::world();
};

TEST_F(TransferChannelTest, MpiBringsEveryByteToItsPlace) {
    std::vector<int> senders(static_cast<size_t>(world_.size()) - 1);
    std::iota(senders.begin(), senders.end(), 1);
    const auto channel = make_transfer_channel(world_, senders, ExchangeKind::automatic, {}, true, 60);
    EXPECT_EQ(channel->name(), "MPI");
    for (int time = 0; time < 2; ++time)
        for (const auto& load : loads_)
            expect_arrival(load, [&](const auto& transfers) { channel->transfer(transfers); });
}

TEST_F(TransferChannelTest, RowsThatAreMissingAreAnError) {
    if (world_.size() == 1) return;
    const auto channel = make_transfer_channel(world_, {1}, ExchangeKind::automatic, {}, true, 60);
    if (world_.rank() > 1) return;
    RowPlace place({{.count = world_.is_root() ? 4U : 3U, .bytes = 16, .gap = 8}});
    const std::vector<RowTransfer> transfers{{1, place.rows()}};
    if (!world_.is_root()) return channel->transfer(transfers);
    EXPECT_THAT(error_of<Error>([&] { channel->transfer(transfers); }), HasSubstr("rank 1 sent 48 bytes"));
}

TEST_F(TransferChannelTest, ChunksOfAnySizeDo) {
    for (const size_t chunk_bytes : {1U, 10U, 64U, 4096U})
        for (const auto& load : {loads_[0], loads_[1], loads_[2]}) {
            MpiLink link(world_, world_.is_root() ? static_cast<size_t>(world_.size()) - 1 : 1, chunk_bytes);
            expect_arrival(load, [&](const auto& transfers) { transfer_staged(link, transfers, world_.is_root()); });
        }
}

TEST_F(TransferChannelTest, TheNextChunkBeginsBeforeTheLastHasEnded) {
    const size_t num_lanes = world_.is_root() ? static_cast<size_t>(world_.size()) - 1 : 1;
    MpiLink link(world_, num_lanes, staged_chunk_bytes(num_lanes));
    expect_arrival({beyond_a_message()},
                   [&](const auto& transfers) { transfer_staged(link, transfers, world_.is_root()); });
    if (world_.size() > 1) {
        EXPECT_TRUE(link.overlapped);
    }
}

TEST_F(TransferChannelTest, NcclIsRefusedWithItsReasonWhereItCannotBe) {
    EXPECT_THAT(usage_error([&] { (void)make_transfer_channel(world_, {}, ExchangeKind::nccl, {}, true, 60); }),
                testing::AllOf(HasSubstr("exchange: nccl is not possible"), HasSubstr("NCCL")));
}

TEST(StagedChunks, OfAllLanesFitASlot) {
    EXPECT_EQ(staged_chunk_bytes(1), size_t{8} << 20);
    EXPECT_EQ(staged_chunk_bytes(16), size_t{4} << 20);
    for (const size_t lanes : {1U, 7U, 64U, 1024U}) EXPECT_LE(lanes * staged_chunk_bytes(lanes), size_t{64} << 20);
    EXPECT_EQ(staged_chunk_bytes(1 << 20), size_t{64} << 10) << "never so small that it is all latency";
}

TEST(RowParts, HoldTheSameBytesInTheSameOrder) {
    for (const auto& shapes : {nothing(), one_byte(), narrow_rows()}) {
        RowPlace place(shapes);
        place.fill(1);
        for (const size_t limit : {1U, 3U, 11U, 40U, 100000U}) {
            size_t index = 0;
            for (const Rows& part : cut_rows(place.rows(), limit)) {
                EXPECT_LE(part.total(), limit);
                for (size_t row = 0; row < part.count; ++row)
                    for (size_t i = 0; i < part.bytes; ++i)
                        ASSERT_EQ(part.first[row * part.stride + i], byte_of(1, index++));
            }
            EXPECT_EQ(index, RowStream(place.rows()).bytes_left());
        }
    }
}

TEST(RowParts, AStreamEndsWhereItsRowsEnd) {
    RowPlace place(one_byte());
    RowStream stream(place.rows());
    std::array<std::byte, 2> bytes{};
    EXPECT_THROW(stream.read(bytes), Error);
    stream.read(std::span(bytes).first(1));
    EXPECT_EQ(stream.bytes_left(), 0U);
    stream.read({});
}

}  // namespace
}  // namespace pb::comm
