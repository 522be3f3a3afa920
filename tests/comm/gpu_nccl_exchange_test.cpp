// Output by grouped ncclSend and ncclRecv. One rank sends to itself; more send to the root. Skipped where there are
// fewer GPUs than ranks.
#include "comm/nccl/channel.hpp"
#include "comm/rows/transfer_channel.hpp"
#include "support/device_of_rank.hpp"
#include "support/row_place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace pb::comm {
namespace {

constexpr double kTimeout_s = 60;

using NcclExchange = test::DeviceOfRank;

/// In both slots, one after the other, chunks of several sizes: what was sent must be what came.
TEST_F(NcclExchange, ARankSendsToItselfInAGroup) {
    constexpr size_t kChunk = 100000;
    nccl::NcclRanks self(world.split(world.rank(), 0), device, kTimeout_s);
    nccl::NcclLink link(self, 2, kChunk);
    for (const size_t bytes : {size_t{1}, size_t{4096}, kChunk}) {
        for (size_t slot = 0; slot < StagingLink::kSlots; ++slot) {
            const std::span<std::byte> sent = link.buffer(slot, 0).first(bytes);
            const std::span<std::byte> received = link.buffer(slot, 1).first(bytes);
            for (size_t i = 0; i < bytes; ++i) sent[i] = byte_of(static_cast<int>(slot), i + bytes);
            std::ranges::fill(received, kUntouched);
            link.begin(slot, std::array{Chunk{0, true, sent}, Chunk{0, false, received}});
        }
        for (size_t slot = 0; slot < StagingLink::kSlots; ++slot) {
            link.end(slot);
            link.end(slot);  // nothing is left to wait for
            const auto sent = link.buffer(slot, 0).first(bytes);
            EXPECT_TRUE(std::ranges::equal(sent, link.buffer(slot, 1).first(bytes)))
                << bytes << " bytes, slot " << slot;
        }
    }
}

TEST_F(NcclExchange, BringsEveryByteToItsPlace) {
    std::vector<int> senders;
    for (int rank = 1; rank < world.size(); ++rank) senders.push_back(rank);
    if (senders.empty()) GTEST_SKIP() << "one rank has nobody to receive from";
    const auto channel = make_transfer_channel(world, senders, ExchangeKind::nccl, device, true, kTimeout_s);
    EXPECT_EQ(channel->name(), "NCCL");
    for (const auto& shapes : {one_byte(), narrow_rows(), beyond_a_message()}) {
        std::vector<RowPlace> places;
        std::vector<RowTransfer> transfers;
        for (const int rank : senders) {
            if (!world.is_root() && rank != world.rank()) continue;
            places.emplace_back(shapes);
            if (!world.is_root()) places.back().fill(rank);
            transfers.push_back({rank, places.back().rows()});
        }
        channel->transfer(transfers);
        for (size_t i = 0; i < places.size(); ++i) EXPECT_TRUE(places[i].holds(transfers[i].from)) << transfers[i].from;
        world.barrier();
    }
}

}  // namespace
}  // namespace pb::comm
