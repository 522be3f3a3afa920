#include "measure/point_figures.hpp"
#include "measure/study/study_summary.hpp"
#include "support/study_points.hpp"
#include "three_rank_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

/// Rank 1 was profiled: 0.5 of 1 s in a convolution of 4 TFLOP, of which 1 was executed, 0.3 s in a sum of 6 GB, 0.1 s
/// in a convolution that moves much.
record::PointTrace profiled_trace() {
    record::PointTrace trace = three_rank_trace();
    trace.profile = record::Profile{.rank = 1,
                                    .calls = 3,
                                    .windows = 4,
                                    .forward_s = 1,
                                    .layers = {{"tail", "convolution 3x3, 8 to 3", 1e10, 1e10, 1.5e9, 0.1},
                                               {"head", "convolution 3x3, 3 to 8", 4e12, 1e12, 1e9, 0.5},
                                               {"add 5", "add", 0, 0, 6e9, 0.3}}};
    for (auto& rank : trace.ranks) {
        rank.bounds[record::Bound::matmul_tflops] = rank.rank == 1 ? 4 : 100;
        rank.bounds[record::Bound::conv_tflops] = 2;
        rank.bounds[record::Bound::device_copy_gb_per_s] = 30;
    }
    return trace;
}

std::vector<PointProfile> profiles_of(const std::vector<record::PointTrace>& traces) {
    return find_profiles(study_points(traces, std::vector<Summary>(traces.size())));
}

TEST(LayerShares, AreOfTheCallLargestFirst) {
    const auto all = profiles_of({three_rank_trace(), profiled_trace()});
    ASSERT_EQ(all.size(), 1U);
    const PointProfile& profile = all.front();
    EXPECT_EQ(profile.point, 4);
    ASSERT_EQ(profile.layers.size(), 3U);
    EXPECT_EQ(profile.layers[0].layer, "head");
    EXPECT_EQ(profile.layers[1].layer, "add 5");
    EXPECT_DOUBLE_EQ(profile.layers[0].share, 0.5);
    EXPECT_DOUBLE_EQ(profile.layers[2].share, 0.1);
    EXPECT_NEAR(profile.other_s, 0.1, 1e-12);
}

TEST(LayerShares, HaveTheBoundOfTheirRank) {
    const PointProfile profile = profiles_of({profiled_trace()}).front();
    EXPECT_DOUBLE_EQ(profile.layers[0].of_bound.value(), 0.5) << "1 TFLOP executed at 4 TFLOP/s in 0.5 s";
    EXPECT_DOUBLE_EQ(profile.layers[1].of_bound.value(), 0.2 / 0.3) << "6 GB at 30 GB/s in 0.3 s";
    EXPECT_DOUBLE_EQ(profile.layers[2].of_bound.value(), 0.5) << "the bytes take longer than the FLOP";
}

TEST(LayerShares, AreAFindingOfTheStudy) {
    const std::vector<record::PointTrace> traces{profiled_trace()};
    const StudySummary study =
        summarise_study(study_points(traces, {summarise(traces[0])}), plan::make_local_topology(3));
    EXPECT_EQ(study.profiles.size(), 1U);
    StudySummary alone;
    alone.profiles = study.profiles;
    EXPECT_FALSE(alone.empty());
}

TEST(LayerShares, HaveNoBoundThatWasNotMeasured) {
    record::PointTrace trace = profiled_trace();
    trace.ranks[1].bounds[record::Bound::matmul_tflops].reset();
    EXPECT_DOUBLE_EQ(profiles_of({trace}).front().layers[0].of_bound.value(), 1) << "the other roof is left";
    trace.ranks[1].bounds[record::Bound::conv_tflops].reset();
    EXPECT_FALSE(profiles_of({trace}).front().layers[0].of_bound) << "of a convolution";
    EXPECT_TRUE(profiles_of({trace}).front().layers[1].of_bound) << "a sum needs only the copy rate";
    trace.ranks[1].bounds[record::Bound::device_copy_gb_per_s].reset();
    EXPECT_FALSE(profiles_of({trace}).front().layers[1].of_bound);
    trace.ranks.clear();
    EXPECT_FALSE(profiles_of({trace}).front().layers[1].of_bound);
}

}  // namespace
}  // namespace pb::measure
