// The metric reduction through NCCL. Skipped where there are fewer GPUs than ranks.
#include "comm/metric_reduction.hpp"
#include "support/device_of_rank.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace pb::comm {
namespace {

constexpr double kTimeout_s = 60;

class NcclTest : public test::DeviceOfRank {
  protected:
    [[nodiscard]] std::unique_ptr<MetricReduction> make(ReductionKind kind, bool own_device = true) const {
        return make_metric_reduction(world, kind, device, own_device, kTimeout_s);
    }
};

TEST_F(NcclTest, CarriesTheFiguresOfRanksWithDevicesOfTheirOwn) {
    EXPECT_EQ(make(ReductionKind::automatic)->name(), "NCCL");
    EXPECT_EQ(make(ReductionKind::mpi)->name(), "MPI");
    EXPECT_EQ(make(ReductionKind::automatic, false)->name(), "MPI");
    EXPECT_THROW((void)make(ReductionKind::nccl, false), UsageError);
}

TEST_F(NcclTest, GivesTheSameBitsAsMpi) {
    const auto nccl = make(ReductionKind::nccl);
    const auto mpi = make(ReductionKind::mpi);
    for (const size_t length : {0U, 1U, 7U, 1000U}) {
        std::vector<double> values(length);
        for (size_t i = 0; i < length; ++i)
            values[i] = (static_cast<double>(i) - 3.3) / (world.rank() + 1) * (i % 2 == 0 ? 1e300 : 1e-300);
        EXPECT_EQ(nccl->all_gather(values), mpi->all_gather(values));
        EXPECT_EQ(nccl->max(values), mpi->max(values));
    }
}

TEST_F(NcclTest, AnErrorOnOneRankIsAnErrorOnAllAndLeavesItUsable) {
    const auto nccl = make(ReductionKind::nccl);
    const std::vector<double> nan{world.rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0};
    EXPECT_THROW((void)nccl->max(nan), Error);
    EXPECT_EQ(nccl->max(std::vector<double>{2.5}), std::vector<double>{2.5});
}

TEST_F(NcclTest, ComesUpAgainAndAgain) {
    const std::vector<double> mine{static_cast<double>(world.rank())};
    for (int round = 0; round < 3; ++round)
        EXPECT_EQ(make(ReductionKind::nccl)->max(mine), std::vector<double>{world.size() - 1.0});
}

}  // namespace
}  // namespace pb::comm
