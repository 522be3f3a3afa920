#include "measure/study/scaling.hpp"
#include "support/study_points.hpp"
#include "sweep_traces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pb::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// DRUNet takes extents that are multiples of 8 as a whole. It splits other extents into quadrants (odd_shape split).
record::PointTrace wide_point(int64_t index, int64_t width, double peak_mib, int64_t pixels) {
    record::PointTrace trace = sample_point(1, 8, 3.2, 1);
    trace.point.index = index;
    trace.point.settings.network = network::kind_of<network::DrunetShape>();
    trace.point.settings.workload = config::Workload::whole;
    trace.point.settings.odd_shape = OddShape::split;
    trace.point.settings.image.path = "";
    trace.point.settings.image.width = width;
    trace.point.source.extent = {1024, width};
    trace.point.halo = 0;
    trace.ranks[0].memory.allocated_peak = std::llround(peak_mib * kMiB);
    trace.prediction = plan::Prediction{.pixels_per_forward = pixels, .peak_mib = 1, .flop = 1, .flop_busiest_rank = 1};
    return trace;
}

/// Makes points that are whole at 1024, 1200, 2408 and 2416 and split at 1028 and 1204, in no order.
std::vector<record::PointTrace> widths() {
    return {wide_point(3, 1200, 300, 1228800),  wide_point(1, 1024, 400, 1048576),
            wide_point(2, 1028, 100, 300000),   wide_point(6, 2416, 612.5, 2473984),
            wide_point(4, 1204, 437.5, 350000), wide_point(5, 2408, 918.75, 2465792)};
}

std::vector<WidthSeries> series_of(const std::vector<record::PointTrace>& traces) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return find_width_series(study_points(traces, summaries));
}

void expect_jump(const MemoryJump& jump, int64_t before, double peak_ratio, double pixels_ratio, JumpCause cause) {
    EXPECT_EQ(jump.before, before);
    EXPECT_EQ(jump.after, before + 1);
    EXPECT_DOUBLE_EQ(jump.peak_ratio, peak_ratio);
    EXPECT_DOUBLE_EQ(jump.pixels_ratio.value(), pixels_ratio);
    EXPECT_EQ(jump.cause, cause);
}

TEST(WidthSeries, JumpsAreBeyondWhatTheWiderImageExplains) {
    const auto all = series_of(widths());
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].all.label, "drunet-split-fp32");
    EXPECT_THAT(all[0].all.points, ElementsAre(1, 2, 3, 4, 5, 6)) << "by width";
    const auto& jumps = all[0].jumps;
    ASSERT_EQ(jumps.size(), 4U) << "from 1204 to 2408 the peak grows 2.1-fold, as the width does";
    expect_jump(jumps[0], 1, 0.25, 300000.0 / 1048576, JumpCause::path);
    expect_jump(jumps[1], 2, 3, 1228800.0 / 300000, JumpCause::path);
    expect_jump(jumps[2], 3, 437.5 / 300, 350000.0 / 1228800, JumpCause::not_pixels);
    expect_jump(jumps[3], 5, 612.5 / 918.75, 2473984.0 / 2465792, JumpCause::not_path);
    EXPECT_TRUE(jumps[0].is_largest) << "down to a quarter is more than up to three times";
    EXPECT_FALSE(jumps[1].is_largest || jumps[2].is_largest || jumps[3].is_largest);
}

TEST(WidthSeries, TheLargestJumpIsThatWhichTheWidthExplainsLeast) {
    const auto jumps =
        series_of({wide_point(1, 512, 100, 1), wide_point(2, 1024, 260, 2), wide_point(3, 1028, 624, 3)}).at(0).jumps;
    ASSERT_EQ(jumps.size(), 2U);
    EXPECT_FALSE(jumps[0].is_largest) << "2.6 times, of which the width explains 2";
    EXPECT_TRUE(jumps[1].is_largest) << "2.4 times at the same width";
}

TEST(WidthSeries, AJumpFromAPointWithoutAPredictionHasNoRatioOfPixels) {
    std::vector<record::PointTrace> traces{wide_point(1, 512, 100, 1), wide_point(2, 1024, 260, 2),
                                           wide_point(3, 1028, 261, 3)};
    traces[0].prediction.reset();
    const MemoryJump jump = series_of(traces).at(0).jumps.at(0);
    EXPECT_FALSE(jump.pixels_ratio);
    EXPECT_DOUBLE_EQ(jump.peak_ratio, 2.6);
}

TEST(WidthSeries, AStepOfExactlyAQuarterIsNone) {
    const auto steps = [](double second_mib) {
        return series_of({wide_point(1, 1000, 100, 1), wide_point(2, 2000, second_mib, 2),
                          wide_point(3, 2008, second_mib, 2)})
            .at(0)
            .jumps;
    };
    EXPECT_THAT(steps(250), IsEmpty());
    EXPECT_EQ(steps(250.5).size(), 1U);
    EXPECT_THAT(steps(160), IsEmpty());
    EXPECT_EQ(steps(159.5).size(), 1U) << "it should have grown";
}

TEST(WidthSeries, AWidthOfTwoHeightsMakesASeriesForEachHeight) {
    auto traces = widths();
    for (auto& trace : traces)
        trace.point.source.extent.h = trace.point.settings.image.height = 2 * trace.point.source.extent.w;
    EXPECT_EQ(series_of(traces).size(), 1U) << "each width has one height";
    auto others = widths();
    for (auto& trace : others) {
        trace.point.index += 10;
        trace.point.settings.image.height = trace.point.source.extent.h = 512;
    }
    traces = widths();
    traces.insert(traces.end(), others.begin(), others.end());
    const auto all = series_of(traces);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_THAT(all[1].all.points, ElementsAre(11, 12, 13, 14, 15, 16));
    EXPECT_TRUE(all[0].jumps[0].is_largest != all[1].jumps[0].is_largest) << "one of the study";
}

TEST(WidthSeries, NeedsThreeWidthsWithAPeak) {
    auto traces = widths();
    for (size_t i = 0; i < 4; ++i) traces[i].status = record::PointStatus::oom;
    EXPECT_THAT(series_of(traces), IsEmpty());
    EXPECT_THAT(series_of({wide_point(1, 1024, 100, 1), wide_point(2, 1024, 100, 1), wide_point(3, 2048, 900, 2)}),
                IsEmpty())
        << "one of the two was measured twice";
    EXPECT_THAT(series_of({wide_point(1, 1024, 0, 1), wide_point(2, 1200, 100, 1), wide_point(3, 2048, 200, 2)}),
                IsEmpty())
        << "the peak of one is not known";
}

TEST(WidthSeries, PathsAreThoseOfTheForwardCalls) {
    plan::Point point = wide_point(1, 1028, 1, 1).point;
    EXPECT_EQ(plan::path_of(point), plan::ImagePath::split);
    point.settings.odd_shape = OddShape::pad;
    EXPECT_EQ(plan::path_of(point), plan::ImagePath::pad);
    point.source.extent.w = 1032;
    EXPECT_EQ(plan::path_of(point), plan::ImagePath::whole);
    point.source.extent = {};
    EXPECT_EQ(plan::path_of(point), std::nullopt);
    point.settings.workload = config::Workload::tiles;
    EXPECT_EQ(plan::path_of(point), plan::ImagePath::tiles);
}

}  // namespace
}  // namespace pb::measure
