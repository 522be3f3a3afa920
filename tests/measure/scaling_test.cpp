#include "measure/study/scaling.hpp"

#include "measure/study/study_summary.hpp"
#include "plan/prediction.hpp"
#include "scaling_traces.hpp"
#include "support/study_points.hpp"

#include <gmock/gmock.h>

namespace pb::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Scaling> scalings_of(const std::vector<record::PointTrace>& traces) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return find_scalings(study_points(traces, summaries));
}

double part_of(const ScalingPoint& point, std::string_view name) {
    for (const auto& part : point.parts)
        if (part.name == name) return part.part;
    return 0;
}

TEST(Scaling, SpeedUpIdealBoundAndEfficiency) {
    const auto all = scalings_of({ranks_trace(4, 3), ranks_trace(1, 10), ranks_trace(2, 5.5)});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, ScalingKind::strong);
    EXPECT_EQ(all[0].label, "dncnn-p64-h0-b1-fp32");
    ASSERT_EQ(all[0].points.size(), 3U);
    const auto& [one, two, four] = std::tie(all[0].points[0], all[0].points[1], all[0].points[2]);
    EXPECT_EQ(one.num_ranks, 1);
    EXPECT_EQ(std::tuple(one.point, two.point, four.point), std::tuple(1, 2, 4));
    EXPECT_DOUBLE_EQ(one.speedup, 1);
    EXPECT_DOUBLE_EQ(one.efficiency, 1);
    EXPECT_DOUBLE_EQ(two.speedup, 10 / 5.5);
    EXPECT_DOUBLE_EQ(two.bound.value(), 2);
    EXPECT_DOUBLE_EQ(four.ideal, 4);
    EXPECT_DOUBLE_EQ(four.bound.value(), 10.0 / 3) << "ten windows on four ranks: T / ceil(T / R)";
    EXPECT_DOUBLE_EQ(four.efficiency, 10.0 / 3 / 4);
    EXPECT_DOUBLE_EQ(four.efficiency_bound.value(), 10.0 / 3 / 4);
    EXPECT_DOUBLE_EQ(four.of_bound.value(), 1) << "nothing is lost beyond what the split costs";
    EXPECT_THAT(all[0].warnings, IsEmpty());
}

TEST(Scaling, TheBaseMayHaveSeveralRanks) {
    const auto points = scalings_of({ranks_trace(10, 1.25), ranks_trace(2, 5), ranks_trace(5, 2.5)}).at(0).points;
    ASSERT_EQ(points.size(), 3U);
    EXPECT_EQ(points[0].num_ranks, 2);
    EXPECT_DOUBLE_EQ(points[0].ideal, 1);
    EXPECT_DOUBLE_EQ(points[0].efficiency, 1);
    EXPECT_DOUBLE_EQ(points[1].ideal, 2.5) << "five ranks for two";
    EXPECT_DOUBLE_EQ(points[1].speedup, 2);
    EXPECT_DOUBLE_EQ(points[1].efficiency, 0.8);
    EXPECT_DOUBLE_EQ(points[1].bound.value(), 2.5) << "five windows a rank, then two";
    EXPECT_DOUBLE_EQ(points[1].of_bound.value(), 0.8);
    EXPECT_DOUBLE_EQ(points[2].ideal, 5);
    EXPECT_DOUBLE_EQ(points[2].efficiency, 0.8);
    EXPECT_LT(points[2].efficiency_range.value().low, 0.8);
    EXPECT_GT(points[2].efficiency_range.value().high, 0.8);
}

TEST(Scaling, IntervalsAreThoseOfTheRatioOfMedians) {
    const auto point = scalings_of({ranks_trace(1, 10), ranks_trace(2, 5)}).at(0).points[1];
    ASSERT_TRUE(point.speedup_range && point.efficiency_range && point.pipeline_range);
    EXPECT_LT(point.speedup_range->low, 2);
    EXPECT_GT(point.speedup_range->low, 2 * 0.9 / 1.25) << "narrower than the ends of both intervals";
    EXPECT_GT(point.speedup_range->high, 2);
    EXPECT_LT(point.speedup_range->high, 2 * 1.25 / 0.9);
    EXPECT_DOUBLE_EQ(point.efficiency_range->low, point.speedup_range->low / 2);
    EXPECT_DOUBLE_EQ(point.efficiency_range->high, point.speedup_range->high / 2);
}

TEST(Scaling, TheSamePixelsARankAreWeakScaling) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(4, 12.5)};
    for (auto& trace : traces) {
        auto& image = trace.point.settings.image;
        image.path.clear();
        image.height_per_rank = 640;
        image.height = 640 * trace.point.num_ranks;
        trace.point.source.extent.h = image.height;
        trace.useful_pixels = static_cast<double>(trace.point.source.extent.pixels());
        trace.prediction = plan::predict(trace.point);
    }
    const auto all = scalings_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, ScalingKind::weak);
    EXPECT_DOUBLE_EQ(all[0].points[1].speedup, 3.2) << "pixels a second";
    EXPECT_DOUBLE_EQ(all[0].points[1].bound.value(), 4);
    EXPECT_DOUBLE_EQ(all[0].points[1].efficiency, 0.8);
    for (auto& trace : traces) trace.point.settings.image.height_per_rank = 0;
    EXPECT_THAT(scalings_of(traces), IsEmpty()) << "two images, and nothing says that they belong together";
}

TEST(Scaling, ACopyForEachRankIsWeakScaling) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(4, 12.5)};
    for (auto& trace : traces) {
        trace.point.settings.workload = config::Workload::whole;
        trace.point.settings.replicate = true;
        trace.useful_pixels *= trace.point.num_ranks;
    }
    const auto all = scalings_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kind, ScalingKind::weak);
    EXPECT_DOUBLE_EQ(all[0].points[1].efficiency, 0.8);
}

TEST(Scaling, WithoutAPredictionOfEitherThereIsNoBound) {
    for (const size_t without : {0, 1}) {
        std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5)};
        traces[without].prediction.reset();
        const auto point = scalings_of(traces).at(0).points[1];
        EXPECT_DOUBLE_EQ(point.speedup, 2);
        EXPECT_FALSE(point.bound);
    }
}

TEST(Scaling, PartsOfTheRanksTimeAddUp) {
    const auto point = scalings_of({ranks_trace(1, 10), ranks_trace(2, 5)}).at(0).points[1];
    EXPECT_NEAR(part_of(point, "gather"), 0.1, 1e-12);
    EXPECT_NEAR(part_of(point, "forward"), 0.6, 1e-12);
    EXPECT_NEAR(part_of(point, "waiting"), 0.1, 1e-12) << "the second of two ranks is ready after 0.8 of the time";
    EXPECT_NEAR(part_of(point, "other"), 0.2, 1e-12);
    ASSERT_EQ(point.waiting.size(), 2U);
    EXPECT_DOUBLE_EQ(point.waiting[0].waiting_s, 0);
    EXPECT_DOUBLE_EQ(point.waiting[1].waiting_s, 1);
}

TEST(Scaling, CostsOfTheProgram) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5)};
    const auto measured = scalings_of(traces).at(0).points[1];
    EXPECT_NEAR(measured.host_cores.value(), 2, 1e-12) << "each rank's process ran all the time";
    EXPECT_FALSE(measured.simulated_s) << "a network's own time is no bound";
    EXPECT_FALSE(measured.between_s) << "the time of all repetitions was not measured";
    for (auto& rank : traces[1].ranks) rank.cpu_s.clear();
    EXPECT_FALSE(scalings_of(traces).at(0).points[1].host_cores) << "nor was the time of the CPU";
    for (auto& trace : traces) {
        trace.point.settings.engine = EngineKind::timed;
        trace.repeated_s = 6 * (1.025 * trace.wall_s[3] + 0.25);  // mean passes plus the time between them
    }
    const auto simulated = scalings_of(traces).at(0);
    EXPECT_TRUE(simulated.simulated);
    const auto& two = simulated.points[1];
    EXPECT_DOUBLE_EQ(two.simulated_s.value(), 3);
    EXPECT_NEAR(two.beyond_bound.value(), 2.0 / 3, 1e-12);
    EXPECT_NEAR(two.overhead_per_window_s.value(), 2.0 / 5, 1e-12) << "five windows on the busiest rank";
    EXPECT_NEAR(two.between_s.value(), 0.25, 1e-9);
    traces[1].ranks[0].num_windows = 8;
    traces[1].ranks[1].num_windows = 2;
    EXPECT_NEAR(scalings_of(traces).at(0).points[1].overhead_per_window_s.value(), 2.0 / 8, 1e-12)
        << "whichever rank that is";
}

TEST(Scaling, WhatChangesBesideTheRanksIsWarnedOf) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5), ranks_trace(10, 1)};
    traces[0].binding = "2 cores a rank";
    traces[1].binding = "2 cores shared by 2 ranks";
    traces[2].binding = "2 cores shared by 2 ranks";
    traces[2].point.batch = 2;
    const auto warnings = scalings_of(traces).at(0).warnings;
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_THAT(warnings[0], HasSubstr("1: 2 cores a rank; 2: 2 cores shared by 2 ranks; 10:"));
    EXPECT_THAT(warnings[1], HasSubstr("1: 1; 2: 1; 10: 2"));
}

TEST(Scaling, PointsThatAreNotValidAreWarnedOf) {
    const std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5), ranks_trace(4, 3)};
    std::vector<Summary> summaries{summarise(traces[0]), summarise(traces[1]), summarise(traces[2])};
    summaries[0].validity = summaries[2].validity = Validity::invalid;
    const auto all = find_scalings(study_points(traces, summaries));
    EXPECT_THAT(all.at(0).warnings, ElementsAre(HasSubstr("INVALID at 1, 4 ranks")));
}

TEST(Scaling, AnAutomaticHaloIsOneSettingWhateverItTakes) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5)};
    traces[1].point.halo = 12;
    EXPECT_THAT(scalings_of(traces), IsEmpty());
    for (auto& trace : traces) trace.point.settings.halo = {config::HaloSetting::Kind::automatic, 0};
    const auto all = scalings_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_THAT(all[0].label, HasSubstr("-hauto-"));
    EXPECT_THAT(all[0].warnings,
                ElementsAre(HasSubstr("halo: auto takes another way along the study (by ranks: 1: 0; 2: 12)")));
    traces[1].point.settings.ranks.count = traces[1].point.num_ranks = 1;
    traces[1].point.settings.dtype = Precision::bf16;
    const std::vector<Summary> summaries{summarise(traces[0]), summarise(traces[1])};
    EXPECT_EQ(find_alternatives(study_points(traces, summaries)).size(), 1U);
}

TEST(Scaling, PointsWithoutFiguresAndRepeatedCountsAreLeftOut) {
    std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5), ranks_trace(2, 7), ranks_trace(4, 3)};
    traces[3].status = record::PointStatus::oom;
    const auto all = scalings_of(traces);
    ASSERT_EQ(all.at(0).points.size(), 2U);
    EXPECT_DOUBLE_EQ(all[0].points[1].pipeline_s, 5);
    traces[1].point.settings.placement = traces[2].point.settings.placement = config::Placement::scatter;
    EXPECT_THAT(scalings_of(traces), IsEmpty()) << "another placement is another study";
}

TEST(Scaling, StandsInTheSummaryOfTheStudy) {
    const std::vector<record::PointTrace> traces{ranks_trace(1, 10), ranks_trace(2, 5)};
    const auto study = summarise_study(study_points(traces, {summarise(traces[0]), summarise(traces[1])}),
                                       plan::make_local_topology(2));
    EXPECT_EQ(study.scalings.size(), 1U);
    EXPECT_FALSE(study.empty());
}

}  // namespace
}  // namespace pb::measure
