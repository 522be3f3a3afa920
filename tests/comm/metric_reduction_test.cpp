#include "comm/metric_reduction.hpp"

#include "comm/collective_step.hpp"
#include "support/messages.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace pb::comm {
namespace {

constexpr double kTimeout_s = 20;

class MetricReductionTest : public testing::Test {
  protected:
    [[nodiscard]] std::unique_ptr<MetricReduction> make(ReductionKind kind) const {
        return make_metric_reduction(world, kind, DeviceId{}, true, kTimeout_s);
    }
    [[nodiscard]] std::vector<double> figures(int rank) const { return {rank + 0.1, -rank * 1e9, 1.0 / (rank + 3)}; }
    const Communicator world = Communicator::world();
};

TEST_F(MetricReductionTest, OnTheCpuMpiCarriesThem) {
    EXPECT_EQ(make(ReductionKind::automatic)->name(), "MPI");
    EXPECT_EQ(make(ReductionKind::mpi)->name(), "MPI");
}

TEST_F(MetricReductionTest, NcclWithoutADeviceIsAUsageErrorOnAllRanks) {
    EXPECT_THAT(usage_error([&] { (void)make(ReductionKind::nccl); }), testing::HasSubstr("rank"));
}

TEST_F(MetricReductionTest, RowsComeInRankOrderAndBitForBit) {
    const auto reduction = make(ReductionKind::automatic);
    const auto rows = reduction->all_gather(figures(world.rank()));
    ASSERT_EQ(rows.size(), static_cast<size_t>(world.size()));
    for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(rows[static_cast<size_t>(rank)], figures(rank));
    EXPECT_TRUE(reduction->max({}).empty());
}

TEST_F(MetricReductionTest, MaximumIsElementByElement) {
    const std::vector<double> expected{world.size() - 1 + 0.1, 0, 1.0 / 3};
    EXPECT_EQ(make(ReductionKind::automatic)->max(figures(world.rank())), expected);
}

TEST_F(MetricReductionTest, UnevenLengthsAreAnErrorOnAllRanks) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    const auto reduction = make(ReductionKind::mpi);
    const std::vector<double> values(static_cast<size_t>(world.rank() == 1 ? 2 : 1));
    EXPECT_THROW((void)reduction->all_gather(values), Error);
    EXPECT_THROW((void)reduction->max(values), Error);
    EXPECT_EQ(reduction->max(std::vector<double>{1}), std::vector<double>{1});
}

TEST_F(MetricReductionTest, ANanOnOneRankIsAnErrorOnAllRanks) {
    const auto reduction = make(ReductionKind::mpi);
    const std::vector<double> values{world.rank() == world.size() - 1 ? std::numeric_limits<double>::quiet_NaN() : 0.0};
    EXPECT_THROW((void)reduction->max(values), Error);
}

TEST_F(MetricReductionTest, TheNumberOfTheFigureThatIsNanIsSaid) {
    const std::vector<double> figures{1, 2, 3, std::numeric_limits<double>::quiet_NaN(), 4};
    EXPECT_THAT(error_of<Error>([&] { require_no_nan(figures); }), testing::HasSubstr("figure 3 "));
}

TEST_F(MetricReductionTest, AFailedAllocationOfOneRankIsOutOfMemoryOnAll) {
    const auto step = [&] {
        if (world.is_root()) throw std::bad_alloc();
    };
    EXPECT_THROW(mpi::step_together(world, step), OutOfMemory);
}

TEST_F(MetricReductionTest, AnErrorBesideAFailedAllocationIsOutOfMemoryToo) {
    const auto step = [&] {
        if (world.is_root()) throw std::bad_alloc();
        throw Error("something else");
    };
    EXPECT_THROW(mpi::step_together(world, step), OutOfMemory);
}

TEST_F(MetricReductionTest, VersionsOfNcclAreNumbersOrAbsent) {
    const std::string header = nccl_header_version();
    EXPECT_EQ(nccl_loaded_version(), header);  // the wheel's headers and library belong together
    EXPECT_TRUE(header == "absent" || std::count(header.begin(), header.end(), '.') == 2) << header;
}

TEST_F(MetricReductionTest, RollCallPassesWhenAllHaveCome) {
    const mpi::BarrierWithTimeout barrier_with_timeout(world);
    for (int round = 0; round < 3; ++round) barrier_with_timeout("this step", kTimeout_s);
}

TEST_F(MetricReductionTest, RollCallNamesWhoIsMissing) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    const mpi::BarrierWithTimeout barrier_with_timeout(world);
    // The last rank stays away for good; those that came would wait for the end of the job, so only rank 0 comes.
    if (world.is_root()) {
        const std::string absent = world.size() == 2 ? "rank 1@" : "ranks 1-" + std::to_string(world.size() - 1) + "@";
        EXPECT_EQ(error_of<RanksMissing>([&] { barrier_with_timeout("this step", 0.05); }),
                  "this step: no answer within 0.05 s from " + absent + host_name());
    }
    world.sleeping_barrier();
}

}  // namespace
}  // namespace pb::comm
