// Output on its way to the root: ranks that are told to be on nodes of their own share no memory, and every pixel still
// arrives at its place.
#include "base/fault.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace pb::run {
namespace {

/// 24 windows, the last row and column cut short: shares begin and end within a row of patches. No time passes.
config::PointSettings passing_point() {
    config::PointSettings settings = test::simulated_point({140, 90});
    settings.protocol.timeline = 0;
    return settings;
}

/// Bytes of the whole image in f32.
constexpr int64_t kImageBytes = int64_t{140} * 90 * 3 * 4;

class Exchange : public test::OnRanks {
  protected:
    Exchange() { study_.bounds = true; }

    /// Rank r is on node r / `ranks_a_node`.
    record::PointTrace run(const config::PointSettings& settings, int ranks_a_node) {
        for (plan::RankPlace& place : topology_.ranks) place.node = place.rank / ranks_a_node;
        return OnRanks::run(settings);
    }

    /// Every pixel is looked at by the verification of simulated points, on the root.
    void expect_all_pixels(const record::PointTrace& trace, const std::string& what) const {
        ASSERT_EQ(trace.status, record::PointStatus::ok) << what << ": " << trace.reason;
        if (world_.is_root()) {
            EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed) << what;
        }
    }
};

TEST_F(Exchange, BringsEveryPixelWhateverTheNodesAndTheSchedule) {
    config::PointSettings settings = passing_point();
    for (const int ranks_a_node : {1, 2})
        for (const auto schedule : {config::Schedule::contiguous, config::Schedule::dynamic}) {
            settings.schedule = schedule;
            expect_all_pixels(run(settings, ranks_a_node), std::string(name_of(schedule)));
        }
}

TEST_F(Exchange, SaysHowMuchItBroughtAndHowFastTheLinkIs) {
    const record::PointTrace trace = run(passing_point(), 1);
    expect_all_pixels(trace, "a rank a node");
    EXPECT_EQ(trace.exchange.has_value(), world_.size() > 1);
    if (!trace.exchange || !world_.is_root()) return;
    EXPECT_EQ(trace.exchange->carrier, "MPI");
    EXPECT_GT(trace.exchange->bytes, 0);
    EXPECT_LT(trace.exchange->bytes, kImageBytes);
    if (world_.size() == 2 || world_.size() == 3) {
        const int64_t rows_of_root = world_.size() == 2 ? 72 : 48;  // whole rows of patches
        EXPECT_EQ(trace.exchange->bytes, (140 - rows_of_root) * 90 * 12) << "the rows of all other ranks";
    }
    EXPECT_GT(trace.exchange->link_bytes_per_s.value_or(0), 0);
    EXPECT_GT(trace.exchange->link_latency_s.value_or(0), 0);
}

TEST_F(Exchange, ThatLosesASampleIsFound) {
    config::PointSettings settings = test::computed_point({140, 90});
    settings.schedule = config::Schedule::contiguous;
    if (world_.is_root()) setenv("PATCHBENCH_FAULT", "transfer:lose:1+", 1);
    restart_faults();
    const record::PointTrace trace = run(settings, 1);
    unsetenv("PATCHBENCH_FAULT");
    restart_faults();
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    const bool is_lost = world_.size() > 1;
    EXPECT_EQ(trace.verification.outcome == record::Verification::Outcome::failed, is_lost);
    if (!is_lost) return;
    EXPECT_NE(trace.verification.reasons.front().find("did not arrive on rank 0"), std::string::npos);
}

TEST_F(Exchange, IsAbsentOnOneNodeAndWhereTheOutputStays) {
    EXPECT_FALSE(run(passing_point(), world_.size()).exchange);
    config::PointSettings streamed = passing_point();
    streamed.output = config::OutputKind::checksum;
    EXPECT_FALSE(run(streamed, 1).exchange);
}

}  // namespace
}  // namespace pb::run
