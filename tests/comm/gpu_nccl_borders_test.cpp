// Border rows from GPU to GPU by NCCL: the bytes that MPI brings, and ranks that fail in any exchange, after which all
// know it and the next pass works. Skipped where there are fewer GPUs than ranks.
#include "comm/rows/border_channel.hpp"
#include "support/device_of_rank.hpp"
#include "support/row_place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace pb::comm {
namespace {

constexpr double kTimeout_s = 60;
constexpr int64_t kExchanges = 7;
constexpr size_t kLargest = 100003;

using Bytes = std::vector<std::byte>;

size_t bytes_of(int64_t exchange) { return std::array<size_t, 3>{kLargest, 1, 4097}[exchange % 3]; }

/// What `rank` sends to a side.
Bytes rows_of(int rank, int64_t pass, int64_t exchange, size_t side) {
    Bytes rows(bytes_of(exchange));
    const auto sender = static_cast<int>(100 * pass + 10 * exchange) + 2 * rank + static_cast<int>(side);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = byte_of(sender, i);
    return rows;
}

/// Where a rank fails in an exchange: before it begins, or while it is on the way.
enum class Place : uint8_t { before, within };

/// The rows of a pass on both sides of a border.
struct Received {
    std::vector<std::array<Bytes, 2>> rows;  // by exchange
    friend bool operator==(const Received&, const Received&) = default;
};

/// A rank's passes through device memory that every exchange uses again, with nothing but the stream to keep order.
class DeviceRows {
  public:
    DeviceRows(DeviceBorders& borders, const NeighbourRanks& neighbours, int rank, DeviceId device)
        : rank_(rank),
          neighbours_(neighbours),
          memory_(device, 4 * kLargest),
          stream_(device),
          channel_(borders.open(neighbours, stream_)) {}

    /// Number of exchanges that worked. `fails_at`: the one in which this rank fails; -1: it does not.
    int64_t run_pass(int64_t pass, int64_t fails_at, Place place) {
        sent_.clear();
        received_.rows.clear();
        channel_->begin_pass(kExchanges);
        try {
            for (int64_t number = 0; number < kExchanges; ++number) exchange(pass, number, fails_at, place);
            require(fails_at != kExchanges, "this rank fails");
            channel_->finish_pass();
        } catch (const Error&) {
            channel_->give_up();
        }
        stream_.synchronise();
        return std::ssize(received_.rows);
    }

    [[nodiscard]] const Received& received() const { return received_; }
    [[nodiscard]] int64_t bytes_sent() const { return channel_->bytes_sent(); }

  private:
    void exchange(int64_t pass, int64_t number, int64_t fails_at, Place place) {
        require(number != fails_at || place != Place::before, "this rank fails");
        const size_t bytes = bytes_of(number);
        std::array<BorderRows, 2> messages;
        for (size_t side = 0; side < 2; ++side) {
            if (!has_neighbour(side)) continue;
            const Bytes& rows = sent_.emplace_back(rows_of(rank_, pass, number, side));
            device::copy_to_device(on_device(side), rows.data(), bytes, stream_);
            messages[side] = {{on_device(side), bytes}, {on_device(2 + side), bytes}};
        }
        channel_->start(messages[0], messages[1]);
        require(number != fails_at, "this rank fails");
        channel_->finish();
        auto& rows = received_.rows.emplace_back();
        for (size_t side = 0; side < 2; ++side) {
            if (!has_neighbour(side)) continue;
            rows[side].resize(bytes);
            device::copy_to_host(rows[side].data(), on_device(2 + side), bytes, stream_);
        }
    }

    [[nodiscard]] bool has_neighbour(size_t side) const {
        return (side == 0 ? neighbours_.above : neighbours_.below).has_value();
    }
    [[nodiscard]] std::byte* on_device(size_t number) const { return memory_.pointer() + number * kLargest; }

    int rank_;
    NeighbourRanks neighbours_;
    device::DeviceBuffer memory_;
    device::Stream stream_;
    std::unique_ptr<BorderChannel> channel_;
    std::vector<Bytes> sent_;  // in use until the stream is done
    Received received_;
};

class BordersByNccl : public test::DeviceOfRank {
  protected:
    void SetUp() override {
        DeviceOfRank::SetUp();
        if (IsSkipped()) return;
        borders = make_device_borders(world, ExchangeKind::nccl, device, true, kTimeout_s);
        rows.emplace(*borders, neighbours(), world.rank(), device);
    }

    [[nodiscard]] NeighbourRanks neighbours() const {
        NeighbourRanks ranks;
        if (world.rank() > 0) ranks.above = world.rank() - 1;
        if (world.rank() + 1 < world.size()) ranks.below = world.rank() + 1;
        return ranks;
    }

    /// The same pass in memory of the host.
    [[nodiscard]] Received by_mpi(int64_t pass) const {
        Neighbours channel(world, neighbours(), kLargest);
        Received received;
        channel.begin_pass(kExchanges);
        for (int64_t number = 0; number < kExchanges; ++number) {
            const Bytes above = rows_of(world.rank(), pass, number, 0), below = rows_of(world.rank(), pass, number, 1);
            auto& rows_here = received.rows.emplace_back();
            if (neighbours().above) rows_here[0].resize(above.size());
            if (neighbours().below) rows_here[1].resize(below.size());
            channel.start({above, rows_here[0]}, {below, rows_here[1]});
            channel.finish();
        }
        return received;
    }

    void expect_whole_pass(int64_t pass) {
        EXPECT_EQ(rows->run_pass(pass, -1, Place::before), kExchanges);
        EXPECT_TRUE(rows->received() == by_mpi(pass));
    }

    std::unique_ptr<DeviceBorders> borders;
    std::optional<DeviceRows> rows;
};

TEST_F(BordersByNccl, AreThoseThatMpiBrings) {
    for (int64_t pass = 0; pass < 3; ++pass) expect_whole_pass(pass);
    int64_t bytes = 0;
    for (int64_t number = 0; number < kExchanges; ++number) bytes += static_cast<int64_t>(bytes_of(number));
    const int sides = (neighbours().above ? 1 : 0) + (neighbours().below ? 1 : 0);
    EXPECT_EQ(rows->bytes_sent(), sides * bytes);
}

TEST_F(BordersByNccl, OfARankThatFailsLetAllOthersGo) {
    for (const Place place : {Place::before, Place::within})
        for (const int64_t fails_at : {0, 1, 5, 6, 7})
            for (int failing = 0; failing < world.size(); ++failing) {
                const int away = std::abs(world.rank() - failing);
                const int64_t worked = rows->run_pass(0, away == 0 ? fails_at : -1, place);
                // An exchange that is on the way is completed for the neighbours, who fail in the next one.
                const int64_t later = place == Place::within && away > 0 ? away : std::max(0, away - 1);
                EXPECT_EQ(worked, std::min(kExchanges, fails_at + later)) << "rank " << failing << " at " << fails_at;
                const Received all = by_mpi(0);
                EXPECT_TRUE(std::ranges::equal(rows->received().rows, std::span(all.rows).first(worked)));
                expect_whole_pass(1);
            }
}

TEST_F(BordersByNccl, OfSeveralRanksThatFail) {
    const auto fails_at = static_cast<int64_t>(world.rank() * 2 % 5);
    EXPECT_LE(rows->run_pass(0, fails_at, Place::within), fails_at);
    expect_whole_pass(1);
    EXPECT_EQ(rows->run_pass(0, world.rank() % 2 == 0 ? 2 : -1, Place::before), 2);
    expect_whole_pass(1);
}

TEST_F(BordersByNccl, OfChannelsOneAfterTheOther) {
    expect_whole_pass(0);
    rows.emplace(*borders, neighbours(), world.rank(), device);
    expect_whole_pass(1);
}

}  // namespace
}  // namespace pb::comm
