#include "report/results_comparison.hpp"

#include "measure/sweep_traces.hpp"
#include "results_of.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace pb::report {
namespace {

TEST(ResultsComparison, EqualPointsOfAFileAreMatchedByTheirOrder) {
    const auto results = results_of({sample_point(1, 8, 1, 100), sample_point(1, 16, 2, 100)});
    const auto compared = compare_results({results}, {results});
    ASSERT_EQ(compared.points.size(), 2U);
    EXPECT_DOUBLE_EQ(compared.points[0].old_s.value(), 8);
    EXPECT_DOUBLE_EQ(compared.points[0].new_s.value(), 8);
    EXPECT_DOUBLE_EQ(compared.points[1].old_s.value(), 16);
    EXPECT_EQ(compared.count(measure::Change::same), 2);
    EXPECT_EQ(compared.num_old, 1U);
}

TEST(ResultsComparison, AnEngineDiffersOnlyWhereBothFilesSayWhichItIs) {
    const auto remarks_with = [](const char* before, const char* after) {
        record::PointTrace old_point = sample_point(1, 8, 1, 100), new_point = sample_point(1, 9, 1, 100);
        old_point.engine_sha256 = old_point.network_sha256 = before;
        new_point.engine_sha256 = new_point.network_sha256 = after;
        return compare_results({results_of({old_point})}, {results_of({new_point})}).points.at(0).remarks;
    };
    EXPECT_THAT(remarks_with("", "5678"), testing::IsEmpty());
    EXPECT_THAT(remarks_with("5678", ""), testing::IsEmpty());
    EXPECT_THAT(remarks_with("5678", "5678"), testing::IsEmpty());
    EXPECT_THAT(remarks_with("1234", "5678"), testing::ElementsAre("file of the engine differs: 1234 -> 5678",
                                                                   "tensors of the network differs: 1234 -> 5678"));
}

record::PointTrace point_of(const char* image, int64_t index) {
    record::PointTrace trace = sample_point(1, 8, index, 100);
    trace.point.settings.image.path = image;
    return trace;
}

TEST(ResultsComparison, AFileCountsByItsName) {
    const auto count = [](const char* before, const char* after) {
        return compare_results({results_of({point_of(before, 1)})}, {results_of({point_of(after, 1)})}).points.size();
    };
    EXPECT_EQ(count("day-1/photo.png", "/archive/photo.png"), 1U);
    EXPECT_EQ(count("day-1/photo.png", "day-1/other.png"), 2U);
}

TEST(ResultsComparison, OfFilesOfOneNameInAStudyTheFoldersCount) {
    const auto whole = results_of({point_of("day-1/photo.png", 1), point_of("day-2/photo.png", 2)});
    const auto part = results_of({point_of("day-2/photo.png", 2)});
    const auto compared = compare_results({whole}, {part});
    ASSERT_EQ(compared.points.size(), 2U);
    EXPECT_FALSE(compared.points[0].missing.empty());
    EXPECT_TRUE(compared.points[1].missing.empty());
}

TEST(ResultsComparison, OtherWeightsAndImagesAreNamed) {
    record::PointTrace before = sample_point(1, 8, 1, 100), after = sample_point(1, 9, 1, 100);
    before.weights_sha256 = after.image_sha256 = "1234";
    before.image_sha256 = after.weights_sha256 = "5678";
    EXPECT_THAT(compare_results({results_of({before})}, {results_of({after})}).points.at(0).remarks,
                testing::ElementsAre("weights differs: 1234 -> 5678", "image differs: 5678 -> 1234"));
}

TEST(ResultsComparison, AnotherWayToMeasureIsNamed) {
    record::PointTrace before = sample_point(1, 8, 1, 100), after = sample_point(1, 9, 1, 100);
    before.point.settings.protocol.warmup_reps = 2;
    after.point.settings.protocol.warmup_reps = 3;
    EXPECT_THAT(compare_results({results_of({before})}, {results_of({after})}).points.at(0).remarks,
                testing::ElementsAre("warmup.reps differs: 2 -> 3"));
}

TEST(ResultsComparison, TheEnvironmentInWhichAStudyWentOnIsNamed) {
    const auto before = results_of({sample_point(1, 8, 1, 100)});
    auto after = before;
    after.sessions.push_back(after.sessions.front());
    after.sessions.back().environment.git_sha = "feedbeef";
    EXPECT_THAT(compare_results({before}, {after}).environment_changes,
                testing::ElementsAre("git_sha: 0123abcd -> feedbeef"));
}

TEST(ResultsComparison, ACrowdedLaunchShowsNoDifference) {
    record::PointTrace slow = sample_point(1, 16, 1, 100);
    TelemetryRecord& counts = slow.ranks[0].telemetry;
    counts[Meter::observed_s] = 10;
    counts[Meter::cpu_pressure_s] = 9;
    counts[Meter::own_cpu_s] = 5;
    counts[Meter::host_cpu_s] = 14.9;
    record::PointTrace fast = sample_point(1, 8, 1, 100);
    const auto compared = [&] {
        return compare_results({results_of({slow})}, {results_of({fast})}).points.at(0).comparison.value();
    };
    const auto change = [&] { return compared().change; };
    EXPECT_EQ(change(), measure::Change::faster);
    counts[Meter::host_cpu_s] = 15;
    EXPECT_EQ(change(), measure::Change::unsure);
    EXPECT_THAT(compared().reason, testing::HasSubstr("of the ranks of OLD"));
    fast = sample_point(1, 16.01, 1, 100);
    EXPECT_EQ(change(), measure::Change::unsure) << "the slower version may be the one that was measured alone";
    EXPECT_THAT(undecided(compare_results({results_of({slow})}, {results_of({fast})}), 0.03),
                testing::ElementsAre(testing::HasSubstr("others had more than twice the CPU time")));
    fast = sample_point(1, 8, 1, 100);
    slow.point.device = fast.point.device = DeviceKind::cuda;
    EXPECT_EQ(change(), measure::Change::faster);
}

/// Calls of 0.05 s in each of six repetitions, for which the rank had a core for this share of the time.
ResultsFile launch_with_cores(double pass_s, double share) {
    record::PointTrace trace = sample_point(1, pass_s, 1, 100);
    for (size_t i = 0; i < trace.wall_s.size(); ++i) {
        trace.ranks[0].stage_s[i][record::Stage::forward] = 0.05;
        trace.ranks[0].cpu_s[i] = 0.05 * share;
    }
    return results_of({trace});
}

TEST(ResultsComparison, ASideThatLackedCoresShowsNoDifference) {
    const auto compared = [](double old_s, double old_share, double new_s, double new_share) {
        return compare_results({launch_with_cores(old_s, old_share)}, {launch_with_cores(new_s, new_share)})
            .points.at(0)
            .comparison.value();
    };
    EXPECT_EQ(compared(8, 1, 12, 1).change, measure::Change::slower);
    EXPECT_EQ(compared(8, 1, 12, 0.65).change, measure::Change::unsure);
    EXPECT_THAT(compared(8, 1, 12, 0.65).reason, testing::StartsWith("a rank had a core for 100 % of the time of its "
                                                                     "forward calls in OLD, for 65 % in NEW"));
    EXPECT_EQ(compared(12, 0.65, 8, 1).change, measure::Change::unsure);
    EXPECT_EQ(compared(12, 1, 8, 0.65).change, measure::Change::faster) << "although it lacked cores";
    EXPECT_EQ(compared(8, 0.65, 12, 0.65).change, measure::Change::slower) << "both did";
    EXPECT_EQ(compared(8, 1, 16, 0.85).change, measure::Change::slower) << "more than by cores";
    EXPECT_EQ(compared(8, 1, 10, 0.91).change, measure::Change::slower) << "as good as a core";
    const auto mixed =
        compare_results({launch_with_cores(8, 1), launch_with_cores(8.01, 1)},
                        {launch_with_cores(10, 0.65), launch_with_cores(10.01, 0.65), launch_with_cores(10.02, 0.95)});
    EXPECT_THAT(mixed.points.at(0).comparison.value().reason, HasSubstr("for 75 % in NEW")) << "of all its launches";
}

TEST(ResultsComparison, LaunchesThatWereNotMadeInTurnsAreSaidToBeThat) {
    const auto launch = [](double pass_s, const char* hour) {
        auto file = results_of({sample_point(1, pass_s, 1, 100)});
        file.sessions.front().environment.started_at = std::string("2026-01-01T") + hour + ":00:00Z";
        return file;
    };
    const auto told = [](const std::vector<ResultsFile>& before, const std::vector<ResultsFile>& after) {
        return std::ranges::any_of(compare_results(before, after).remarks,
                                   [](const auto& remark) { return remark.starts_with("not measured in turns"); });
    };
    const std::vector<ResultsFile> before = {launch(8, "08"), launch(8.01, "10")};
    EXPECT_TRUE(told(before, {launch(16, "11"), launch(16.01, "12")}));
    EXPECT_TRUE(told(before, {launch(16, "06"), launch(16.01, "07")}));
    EXPECT_FALSE(told(before, {launch(16, "09"), launch(16.01, "11")}));
    EXPECT_FALSE(told(before, {launch(16, "07"), launch(16.01, "09")}));
    EXPECT_FALSE(told(before, {launch(8.02, "11"), launch(8.01, "12")})) << "no difference";
    EXPECT_FALSE(told({launch(8, "08")}, {launch(16, "09")})) << "one a side";
    EXPECT_FALSE(told({launch(8, "08")}, {launch(16, "09"), launch(16.01, "10")})) << "one of OLD";
}

TEST(ResultsComparison, MoreLaunchesAreAskedForWhereEachSideHasOne) {
    const auto one = results_of({sample_point(1, 8, 1, 100)});
    const auto asks_for = [](const ResultsComparison& compared) {
        return comparison_markdown(compared).find("measure several") != std::string::npos;
    };
    EXPECT_TRUE(asks_for(compare_results({one}, {one})));
    EXPECT_FALSE(asks_for(compare_results({one}, {one, one, one})));
    EXPECT_FALSE(asks_for(compare_results({one, one, one}, {one, one, one})));
}

/// mutant: the first launch alone.
TEST(ResultsComparison, EachLaunchIsLookedAt) {
    const auto launch = [](int64_t reps_s) { return sample_point(1, static_cast<double>(reps_s), 1, 100); };
    record::PointTrace other = launch(9);
    other.weights_sha256 = "5678";
    const auto same = [&](double s) {
        record::PointTrace trace = sample_point(1, s, 1, 100);
        trace.weights_sha256 = "1234";
        return results_of({trace});
    };
    const auto remarks =
        compare_results({same(8)}, {same(9), results_of({other}), results_of({other})}).points.at(0).remarks;
    EXPECT_THAT(remarks, testing::ElementsAre("weights differs: 1234 -> 5678"));
}

TEST(ResultsComparison, InvalidFiguresShowNoDifference) {
    record::PointTrace before = sample_point(1, 16, 1, 100), after = sample_point(1, 8, 1, 100);
    const auto compared = [&] {
        return compare_results({results_of({before})}, {results_of({after})}).points.at(0).comparison.value();
    };
    EXPECT_EQ(compared().change, measure::Change::faster);
    after.shared_device = true;
    EXPECT_EQ(compared().change, measure::Change::unsure);
    EXPECT_THAT(compared().reason, testing::HasSubstr("figures of NEW are INVALID"));
    after.wall_s = before.wall_s;
    EXPECT_EQ(compared().change, measure::Change::same) << "by identity";
    for (double& time : after.wall_s) time *= 1.001;
    EXPECT_EQ(compared().change, measure::Change::unsure) << "as near as they are";
}

TEST(ResultsComparison, AnImageThatWasReplacedByASmallerOneIsNamed) {
    record::PointTrace before = sample_point(1, 8, 1, 100), after = sample_point(1, 9, 1, 100);
    after.point.source.extent = {500, 600};
    const auto points = compare_results({results_of({before})}, {results_of({after})}).points;
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[0].missing, "not in NEW, where the image has 500 x 600 x 3, not 1000 x 1250 x 3");
    EXPECT_EQ(points[1].missing, "not in OLD, where the image has 1000 x 1250 x 3, not 500 x 600 x 3");
}

TEST(ResultsComparison, AnotherHaloThatWasFoundIsNamed) {
    record::PointTrace before = sample_point(1, 8, 1, 100), after = sample_point(1, 9, 1, 100);
    for (auto* point : {&before, &after}) point->point.settings.halo = {config::HaloSetting::Kind::automatic, 0};
    before.point.halo = 16;
    after.point.halo = 32;
    EXPECT_THAT(compare_results({results_of({before})}, {results_of({after})}).points.at(0).remarks,
                testing::Contains("halo differs: 16 -> 32"));
}

TEST(ResultsComparison, AnotherCardOfTheNetworkIsNamed) {
    record::PointTrace before = sample_point(1, 8, 1, 100), after = sample_point(1, 9, 1, 100);
    for (auto* point : {&before, &after})
        point->point.settings.network.card = network::NetworkCard{.radius = 1, .halo = 1};
    const auto remarks = [&] {
        return compare_results({results_of({before})}, {results_of({after})}).points.at(0).remarks;
    };
    EXPECT_THAT(remarks(), testing::IsEmpty());
    after.point.settings.network.card->halo = 2;
    EXPECT_THAT(remarks(),
                testing::ElementsAre(testing::MatchesRegex("card of the network differs: .*halo 1 -> .*halo 2")));
}

TEST(ResultsComparison, AWrongOutputHasNoFigures) {
    const auto good = results_of({sample_point(1, 8, 1, 100)});
    record::PointTrace wrong = sample_point(1, 4, 1, 100);
    wrong.verification.outcome = record::Verification::Outcome::failed;
    const auto compared = compare_results({good}, {results_of({wrong})});
    ASSERT_EQ(compared.points.size(), 1U);
    EXPECT_FALSE(compared.points[0].comparison);
    EXPECT_EQ(compared.points[0].missing, "NEW: the output is wrong");
    EXPECT_EQ(compared.points[0].lost, compared.points[0].missing);
}

TEST(ResultsComparison, TimesThatCannotBeAreNoFigures) {
    const auto good = results_of({sample_point(1, 8, 1, 100)});
    for (const double impossible : {0.0, -1.0, std::nan("")}) {
        auto damaged = good;
        damaged.points[0].trace.wall_s[2] = impossible;
        EXPECT_EQ(compare_results({good}, {damaged}).points.at(0).missing, "NEW: no times") << impossible;
    }
}

TEST(ResultsComparison, LaunchesThatAreLeftOutAreCounted) {
    const auto good = results_of({sample_point(1, 8, 1, 100)});
    record::PointTrace point = sample_point(1, 4, 1, 100);
    point.verification.outcome = record::Verification::Outcome::failed;
    const auto wrong = results_of({point});
    const auto remarks_of = [&](const std::vector<ResultsFile>& launches) {
        return compare_results({good}, launches).points.at(0).remarks;
    };
    using testing::Contains;
    EXPECT_THAT(remarks_of({wrong, good, wrong}), Contains("2 launches of NEW are left out: the output is wrong"));
    EXPECT_THAT(remarks_of({wrong, good}), Contains("a launch of NEW is left out: the output is wrong"));
    EXPECT_THAT(remarks_of({results_of({}), good, results_of({})}),
                Contains("2 of 3 launches of NEW have no such point"));
    EXPECT_TRUE(remarks_of({good, good}).empty());
}

TEST(ResultsComparison, TheChangeIsThatOfTheTimesShown) {
    const auto launch = [](double pass_s) { return results_of({sample_point(1, pass_s, 1, 100)}); };
    const auto compared = compare_results({launch(8), launch(2), launch(3)}, {launch(4), launch(9), launch(1)});
    const PointComparison& point = compared.points.at(0);
    EXPECT_NEAR(point.comparison->ratio, *point.new_s / *point.old_s, 1e-12);
    EXPECT_NEAR(*point.old_s, std::cbrt(8 * 2 * 3), 1e-12);
}

TEST(ResultsComparison, APointOfAnotherNumberOfRanksIsSaidToBeThat) {
    const auto one = results_of({sample_point(1, 8, 1, 100)});
    record::PointTrace point = sample_point(1, 8, 1, 100);
    point.point.num_ranks = 5;
    point.point.settings.image.seed = 9;
    const auto compared = compare_results({one}, {results_of({point})});
    ASSERT_EQ(compared.points.size(), 2U);
    const std::string ranks = std::to_string(one.points[0].trace.point.num_ranks);
    EXPECT_EQ(compared.points[0].missing, "not in NEW, where ranks = 5, not " + ranks + "; image.seed = 9, not 7");
    EXPECT_THAT(compared.points[1].missing, testing::HasSubstr("not in OLD, where ranks = " + ranks + ", not 5"));
    point.point.settings.network = network::kind_of<network::UnetShape>();
    point.point.settings.patch = 32;
    EXPECT_EQ(compare_results({one}, {results_of({point})}).points[0].missing, "not in NEW") << "another label";
}

TEST(ResultsComparison, AChangeNamesTheOtherWorkMeanwhile) {
    const auto quiet = results_of({sample_point(1, 8, 1, 100)});
    record::PointTrace point = sample_point(1, 24, 1, 100);
    point.ranks[0].host = "node1";
    point.ranks[0].telemetry[Meter::observed_s] = 10;
    point.ranks[0].telemetry[Meter::own_cpu_s] = 5;
    point.ranks[0].telemetry[Meter::host_cpu_s] = 29;
    const auto busy = results_of({point});
    using testing::Contains;
    const auto said = testing::HasSubstr("node1: other processes used 2.4 cores");
    EXPECT_THAT(compare_results({quiet}, {busy}).points.at(0).remarks, Contains(said));
    EXPECT_THAT(compare_results({busy}, {busy}).points.at(0).remarks, testing::Not(Contains(said))) << "the same time";
    EXPECT_TRUE(compare_results({quiet}, {quiet}).points.at(0).remarks.empty());
}

}  // namespace
}  // namespace pb::report
