// Tests intervals of rates and shares of stages against figures computed by hand.
#include "measure/point_figures.hpp"

#include "sweep_traces.hpp"

#include <gtest/gtest.h>

namespace pb::measure {
namespace {

/// Makes eight patches and a megapixel in passes from 7 to 13 s, with median 8 s and mean 9.5 s.
record::PointTrace skewed_trace() {
    record::PointTrace trace = sample_point(4, 8, 3.2, 220);
    trace.wall_s = trace.ranks[0].wall_s = {8, 13, 7, 8, 7.5, 12};
    return trace;
}

void set_stage(record::PointTrace& trace, record::Stage stage, double median_s) {
    auto& repetitions = trace.ranks[0].stage_s;
    for (size_t i = 0; i < repetitions.size(); ++i)
        repetitions[i][static_cast<size_t>(stage)] = i == 0 ? 10 * median_s : median_s;
}

TEST(PointFigures, TheLongestTimeGivesTheLowestRate) {
    const PointFigures figures = point_figures(summarise(skewed_trace()));
    EXPECT_EQ(figures.point, 4);
    ASSERT_TRUE(figures.useful_mpx_per_s && figures.patches_per_s && figures.images_per_s);
    EXPECT_DOUBLE_EQ(figures.useful_mpx_per_s->low, 1 / 13.0);
    EXPECT_DOUBLE_EQ(figures.useful_mpx_per_s->high, 1 / 7.0);
    EXPECT_DOUBLE_EQ(figures.patches_per_s->low, 8 / 13.0);
    EXPECT_DOUBLE_EQ(figures.patches_per_s->high, 8 / 7.0);
    EXPECT_DOUBLE_EQ(figures.images_per_s->low, 0.8 / 13) << "the pixels are 0.8 of an image";
}

TEST(PointFigures, PassesOfLessThanASecondHaveAnInterval) {
    record::PointTrace trace = skewed_trace();
    for (double& seconds : trace.wall_s) seconds /= 16;
    trace.ranks[0].wall_s = trace.wall_s;
    const auto rates = point_figures(summarise(trace)).patches_per_s;
    ASSERT_TRUE(rates);
    EXPECT_DOUBLE_EQ(rates->low, 16 * 8 / 13.0);
    EXPECT_DOUBLE_EQ(rates->high, 16 * 8 / 7.0);
}

TEST(PointFigures, FewRepetitionsHaveNoInterval) {
    record::PointTrace trace = skewed_trace();
    trace.wall_s.resize(5);
    for (auto& rank : trace.ranks) {
        rank.wall_s.resize(5);
        rank.stage_s.resize(5);
        rank.cpu_s.resize(5);
    }
    const Summary summary = summarise(trace);
    EXPECT_FALSE(pipeline_interval(summary));
    EXPECT_FALSE(point_figures(summary).useful_mpx_per_s);
}

TEST(PointFigures, SharesAreOfTheStagesInsideAPass) {
    record::PointTrace trace = skewed_trace();
    set_stage(trace, record::Stage::gather, 0.6);
    set_stage(trace, record::Stage::forward, 3);
    set_stage(trace, record::Stage::scatter, 0.4);
    trace.read_s = 5;  // not part of a pass
    const auto shares = point_figures(summarise(trace)).stage_shares;
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_EQ(shares[0].stage, record::Stage::gather);
    EXPECT_DOUBLE_EQ(shares[0].share, 0.15);
    EXPECT_EQ(shares[1].stage, record::Stage::forward);
    EXPECT_DOUBLE_EQ(shares[1].share, 0.75);
    EXPECT_DOUBLE_EQ(shares[2].share, 0.1);
    EXPECT_TRUE(point_figures(summarise(skewed_trace())).stage_shares.empty());
}

}  // namespace
}  // namespace pb::measure
