// Tests which point is recommended, and that none is when none qualifies.
#include "measure/study/recommendation.hpp"

#include "support/study_points.hpp"
#include "sweep_traces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pb::measure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kHidden = 0.4 / 255, kVisible = 254.0 / 255;  // the tolerance is half a grey level

/// Makes batches 4 (the fastest), 1 and 2, whose intervals do not overlap. All have this seam error and a halo that is
/// not exact.
std::vector<record::PointTrace> sweep(double seam_error) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), sample_point(1, 16, 1.6, 130),
                                           sample_point(2, 11, 2, 160)};
    for (auto& trace : traces) {
        trace.verification.seam_error = seam_error;
        trace.point.halo = 16;
    }
    return traces;
}

std::vector<Recommendation> recommended(const std::vector<record::PointTrace>& traces) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return recommend(study_points(traces, summaries));
}

TEST(Recommendation, IsTheFastestPointWithoutVisibleSeams) {
    const auto found = recommended(sweep(kHidden));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].label, "dncnn-fp32");
    EXPECT_THAT(found[0].points, ElementsAre(4, 1, 2));
    EXPECT_EQ(found[0].point, 4);
    EXPECT_EQ(found[0].point_label, "dncnn-p256-h16-b4-fp32");
    EXPECT_THAT(found[0].reason, HasSubstr("fastest of 3 "));
}

TEST(Recommendation, SpeedDoesNotMakeUpForVisibleSeams) {
    auto traces = sweep(kHidden);
    traces[0].verification.seam_error = kVisible;  // the fastest
    traces[0].point.halo = 8;
    const auto found = recommended(traces);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].point, 2);
    EXPECT_THAT(found[0].reason, HasSubstr("fastest of 2 "));
}

TEST(Recommendation, IsNoneWhereNoPointQualifies) {
    const auto seams = recommended(sweep(kVisible));
    ASSERT_EQ(seams.size(), 1U);
    EXPECT_EQ(seams[0].point, std::nullopt);
    EXPECT_EQ(seams[0].point_label, "");
    EXPECT_THAT(seams[0].reason,
                AllOf(HasSubstr("3 with visible seams"), HasSubstr(" from 1 "), HasSubstr("0.002"), HasSubstr("halo")));

    auto less = sweep(kVisible);
    less[1].verification.seam_error = 0.25;  // neither the first nor the last
    EXPECT_THAT(recommended(less)[0].reason, HasSubstr("seam error from 0.25 on"));

    EXPECT_EQ(recommended(sweep(NAN))[0].point, std::nullopt) << "outputs of no numbers";

    auto mixed = sweep(kVisible);
    mixed[0].verification.outcome = record::Verification::Outcome::off;
    mixed[1].verification.seam_error = std::nullopt;
    EXPECT_THAT(recommended(mixed)[0].reason, HasSubstr("1 with visible seams"));
    EXPECT_THAT(recommended(mixed)[0].reason, HasSubstr("1 whose seams"));
    EXPECT_THAT(recommended(mixed)[0].reason, HasSubstr("1 not VALID"));
}

TEST(Recommendation, ToleranceIsThePointsOwn) {
    auto traces = sweep(kVisible);
    for (auto& trace : traces) trace.point.settings.halo_tolerance = 1;
    EXPECT_EQ(recommended(traces)[0].point, 4);
}

TEST(Recommendation, RoundingOfTheOutputIsNoSeam) {
    auto traces = sweep(0.9 / 255);
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
    for (auto& trace : traces) trace.verification.output_rounding = 0.5 / 255;
    EXPECT_EQ(recommended(traces)[0].point, 4);
    for (auto& trace : traces) trace.verification.seam_error = 1.1 / 255;
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("above 0.0039"));
}

TEST(Recommendation, RoundingOfThePrecisionIsNoSeam) {
    auto traces = sweep(1.5 / 255);
    for (auto& trace : traces) trace.verification.window_error = 1.0 / 255;
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt) << "in fp32 windows that differ excuse no seams";
    for (auto& trace : traces) trace.point.settings.dtype = Precision::bf16;
    EXPECT_EQ(recommended(traces)[0].point, 4);
    for (auto& trace : traces) trace.verification.seam_error = 2.1 / 255;
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
    for (auto& trace : traces) {
        trace.verification.seam_error = 1.5 / 255;
        trace.verification.output_rounding = 0.5 / 255;  // which the windows have, too
        trace.verification.window_error = 0.5 / 255;
    }
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
    for (auto& trace : traces) trace.verification = sweep(2.1 / 255)[0].verification;
    for (auto& trace : traces) trace.verification.window_error = 1.0 / 255;
    traces[2].verification.seam_error = 9.0 / 255;
    traces[2].verification.window_error = 5.0 / 255;
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("from 0.0082 on, above 0.0067")) << "both of one point";
}

TEST(Recommendation, AnExactHaloHasNoSeamsInAnyPrecision) {
    auto traces = sweep(kVisible);
    traces[1].point.halo = traces[1].point.facts().exact_halo;
    EXPECT_EQ(visible_seams(traces[1]), std::nullopt);
    EXPECT_EQ(recommended(traces)[0].point, 1);
}

TEST(Recommendation, OnePatchHasNothingToJoin) {
    auto traces = sweep(kVisible);
    traces[1].num_patches = 1;
    traces[1].verification.seam_error = std::nullopt;
    EXPECT_EQ(recommended(traces)[0].point, 1);
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("the only "));
}

TEST(Recommendation, OfPointsAsFastAsTheFastestTheOneWithLeastMemoryIsTaken) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), sample_point(2, 8.2, 2, 160),
                                           sample_point(1, 16, 1.6, 100)};
    for (auto& trace : traces) trace.verification.seam_error = 0;
    const auto found = recommended(traces);
    EXPECT_EQ(found[0].point, 2) << "within the interval of the fastest; the third is too slow for its memory";
    EXPECT_THAT(found[0].reason, HasSubstr("least memory"));
    traces[1].ranks[0].memory.allocated_peak = 220 << 20;
    EXPECT_EQ(recommended(traces)[0].point, 4) << "who needs as much must be faster";
    traces[1].ranks[0].memory.allocated_peak = 0;
    EXPECT_EQ(recommended(traces)[0].point, 4) << "the memory of the other is unknown";
    traces[1] = sample_point(2, 9.2, 2, 160);
    traces[1].verification.seam_error = 0;
    EXPECT_EQ(recommended(traces)[0].point, 4) << "the intervals are wide: 15 % more time is not as fast";
}

TEST(Recommendation, IntervalsThatMeetAreEnoughForThePointWithLeastMemory) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), sample_point(2, 8.3, 2, 160)};
    for (auto& trace : traces) {
        trace.verification.seam_error = 0;
        const double middle_s = trace.wall_s[2];
        for (double& pass_s : trace.wall_s) pass_s = middle_s + 0.35 * (pass_s - middle_s);
        trace.ranks[0].wall_s = trace.wall_s;
    }
    EXPECT_EQ(recommended(traces)[0].point, 2) << "at its best it is slower than the fastest on average";
}

TEST(Recommendation, PointsThatDriftAreNotRecommended) {
    auto traces = sweep(kHidden);
    traces[0].wall_s = traces[0].ranks[0].wall_s = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(recommended(traces)[0].point, 2);
}

TEST(Recommendation, APointMeasuredAgainDoesNotCompete) {
    auto traces = sweep(kHidden);
    traces[0].point.key = traces[2].point.key = "0123456789abcdef";
    traces[1].point.key = "fedcba9876543210";
    std::swap(traces[0], traces[2]);  // the fastest point now comes second
    EXPECT_EQ(recommended(traces)[0].point, 2);
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("fastest of 2 "));
    traces[0].wall_s = traces[0].ranks[0].wall_s = {1, 2, 3, 4, 5, 6};  // it drifted, the second time it did not
    EXPECT_EQ(recommended(traces)[0].point, 4);
    EXPECT_THAT(recommended(traces)[0].points, ElementsAre(2, 1, 4)) << "in the order of the study";
}

TEST(Recommendation, SaysWhichPointsWereNotCompared) {
    auto traces = sweep(kHidden);
    for (auto& trace : {&traces[0], &traces[2]}) trace->wall_s = trace->ranks[0].wall_s = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(recommended(traces)[0].point, 1);
    EXPECT_EQ(recommended(traces)[0].reason,
              "the only verified point without visible seams; 2 not compared: not VALID, or not verified");
}

TEST(Recommendation, AHaloWhoseSeamsShowAtOnePatchIsTakenAtNone) {
    auto traces = sweep(kHidden);
    traces[1].verification.seam_error = kVisible;  // all points have the same halo
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("2 with a halo"));
    traces[2].point.halo = *traces[2].point.halo + 8;
    EXPECT_EQ(recommended(traces)[0].point, 2);
    traces[0].num_patches = 1;
    EXPECT_EQ(recommended(traces)[0].point, 4) << "one patch meets no other";
}

TEST(Recommendation, TheLargestHaloWhoseSeamsShowIsTooSmallWhicheverPointComesFirst) {
    auto traces = sweep(kHidden);
    traces[1].verification.seam_error = traces[2].verification.seam_error = kVisible;
    traces[1].point.halo = 18;
    traces[2].point.halo = 8;
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt) << "its halo of 16 is less than 18";
    std::swap(traces[1], traces[2]);
    EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
}

TEST(Recommendation, IsNoneWhilePointsAreStillToBeMeasured) {
    for (const record::PointStatus status : {record::PointStatus::skipped, record::PointStatus::interrupted}) {
        auto traces = sweep(kHidden);
        traces[2].status = status;
        traces[2].wall_s.clear();
        EXPECT_EQ(recommended(traces)[0].point, std::nullopt);
        EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("not finished: 1 of 3 "));
    }
}

TEST(Recommendation, OtherWorkMeanwhilePutsItInDoubt) {
    auto traces = sweep(kHidden);
    record::RankTrace& rank = traces[1].ranks[0];
    rank.host = "node1";
    rank.telemetry[Meter::observed_s] = 10;
    rank.telemetry[Meter::own_cpu_s] = 5;
    rank.telemetry[Meter::host_cpu_s] = 29;
    EXPECT_EQ(recommended(traces)[0].reason,
              "the fastest of 3 verified points without visible seams; 1 of them not measured alone (node1: other "
              "processes used 2.4 cores): measure again on a quiet machine to be sure");
    EXPECT_EQ(recommended({traces[1]})[0].reason, "the only verified point without visible seams");
    traces[2].ranks = traces[1].ranks;
    traces[2].ranks[0].wall_s = traces[2].wall_s;
    traces[2].ranks[0].host = "node2";
    EXPECT_THAT(recommended(traces)[0].reason, HasSubstr("; 2 of them not measured alone (node1: "));
    const auto notes = summarise(traces[1]).notes;
    EXPECT_THAT(notes, Contains(HasSubstr("node1: other processes used 2.4 cores")));
    EXPECT_THAT(summarise(traces[0]).notes, Not(Contains(HasSubstr("other processes"))));
}

TEST(Recommendation, NetworksAndPrecisionsAreNotChosenAmong) {
    auto traces = sweep(kHidden);
    traces[1].point.settings.dtype = Precision::bf16;
    const auto found = recommended(traces);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].point, 4);
    EXPECT_EQ(found[1].point, 1);
    EXPECT_EQ(found[1].label, "dncnn-bf16");
}

TEST(Recommendation, AClockAndWholeImagesAreNotRecommended) {
    auto simulated = sweep(kHidden);
    for (auto& trace : simulated) trace.point.settings.engine = EngineKind::timed;
    EXPECT_TRUE(recommended(simulated).empty());
    auto whole = sweep(kHidden);
    for (auto& trace : whole) trace.point.settings.workload = config::Workload::whole;
    EXPECT_TRUE(recommended(whole).empty());
    EXPECT_TRUE(recommended({unmeasured_trace(record::PointStatus::oom, "80 GiB")}).empty());
}

TEST(Recommendation, PointsThatShareALabelAreNamedByTheirIndex) {
    auto traces = sweep(kHidden);
    traces[2].point.batch = 4;  // limited by the number of windows
    EXPECT_EQ(recommended(traces)[0].point_label, "dncnn-p256-h16-b4-fp32#4");
}

}  // namespace
}  // namespace pb::measure
