// Rows between ranks that lie side by side; and ranks that fail in any exchange, after which all know it and the next
// pass works.
#include "comm/rows/border_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace pb::comm {
namespace {

constexpr int64_t kExchanges = 6;
constexpr size_t kLargest = 100000;  // more than MPI sends before the other side asks for it

class NeighbourRows : public testing::Test {
  protected:
    NeighbourRows() : world_(Communicator::world()), neighbours_(world_, ranks(), kLargest) {}

    [[nodiscard]] NeighbourRanks ranks() const {
        NeighbourRanks ranks;
        if (world_.rank() > 0) ranks.above = world_.rank() - 1;
        if (world_.rank() + 1 < world_.size()) ranks.below = world_.rank() + 1;
        return ranks;
    }

    /// What `rank` sends to a side in an exchange of a pass.
    [[nodiscard]] static std::vector<std::byte> rows(int rank, int64_t pass, int64_t exchange, int side) {
        const size_t size = exchange % 2 == 0 ? kLargest : 3;
        const auto value = static_cast<std::byte>(100 * pass + 10 * exchange + 2 * rank + side);
        return std::vector<std::byte>(size, value);
    }

    /// One exchange; false where a neighbour has failed.
    bool exchange(int64_t pass, int64_t number) {
        const int rank = world_.rank();
        const auto to_above = rows(rank, pass, number, 0), to_below = rows(rank, pass, number, 1);
        std::vector<std::byte> above(to_above.size()), below(to_below.size());
        neighbours_.start({to_above, above}, {to_below, below});
        try {
            neighbours_.finish();
        } catch (const NeighbourFailed&) {
            return false;
        }
        EXPECT_TRUE(!ranks().above || above == rows(rank - 1, pass, number, 1)) << "from above, exchange " << number;
        EXPECT_TRUE(!ranks().below || below == rows(rank + 1, pass, number, 0)) << "from below, exchange " << number;
        return true;
    }

    /// Number of exchanges that worked. `fails_at`: the one before which this rank fails; -1: it does not.
    int64_t run_pass(int64_t pass, int64_t fails_at) {
        neighbours_.begin_pass(kExchanges);
        for (int64_t number = 0; number < kExchanges; ++number)
            if (number == fails_at || !exchange(pass, number)) {
                neighbours_.give_up();
                return number;
            }
        if (fails_at == kExchanges) neighbours_.give_up();
        return kExchanges;
    }

    const Communicator world_;
    Neighbours neighbours_;
};

TEST_F(NeighbourRows, ArriveAtTheirNeighbour) {
    for (int64_t pass = 0; pass < 2; ++pass) EXPECT_EQ(run_pass(pass, -1), kExchanges);
    const int sides = (ranks().above ? 1 : 0) + (ranks().below ? 1 : 0);
    EXPECT_EQ(neighbours_.bytes_sent(), sides * 3 * (static_cast<int64_t>(kLargest) + 3));
}

TEST_F(NeighbourRows, OfARankThatFailsLetAllOthersGo) {
    for (int64_t fails_at = 0; fails_at <= kExchanges; ++fails_at)
        for (int failing = 0; failing < world_.size(); ++failing) {
            const int away = std::abs(world_.rank() - failing);
            const int64_t worked = run_pass(0, away == 0 ? fails_at : -1);
            EXPECT_EQ(worked, std::min(kExchanges, fails_at + std::max(0, away - 1))) << "rank " << failing;
            EXPECT_EQ(run_pass(1, -1), kExchanges) << "nothing is left over";
        }
}

TEST_F(NeighbourRows, OfSeveralRanksThatFail) {
    const auto fails_at = static_cast<int64_t>(world_.rank() * 2 % 5);
    EXPECT_LE(run_pass(0, fails_at), fails_at);
    EXPECT_EQ(run_pass(1, -1), kExchanges);
    EXPECT_EQ(run_pass(0, world_.rank() % 2 == 0 ? 2 : -1), 2);
    EXPECT_EQ(run_pass(1, -1), kExchanges);
}

TEST_F(NeighbourRows, TooWideForMpiAreRefused) { EXPECT_THROW(Neighbours(world_, {}, size_t{1} << 31), UsageError); }

}  // namespace
}  // namespace pb::comm
