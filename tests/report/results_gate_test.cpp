#include "measure/sweep_traces.hpp"
#include "report/results_comparison.hpp"
#include "results_of.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace pb::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

ResultsFile launch(double pass_s) { return results_of({sample_point(1, pass_s, 1, 100)}); }

ResultsFile wrong_launch() {
    record::PointTrace point = sample_point(1, 8, 1, 100);
    point.verification.outcome = record::Verification::Outcome::failed;
    return results_of({point});
}

ResultsFile launch_without_figures(record::PointStatus status) {
    record::PointTrace point = sample_point(1, 8, 1, 100);
    point.status = status;
    return results_of({point});
}

const std::vector<ResultsFile> kOld = {launch(8), launch(8.01), launch(7.99)};

TEST(ResultsGate, FailsWhereNothingIsCompared) {
    EXPECT_THROW((void)compare_results({launch(8)}, {}), UsageError);
    EXPECT_THROW((void)compare_results({}, {launch(8)}), UsageError);
    EXPECT_THAT(regressions(compare_results({results_of({})}, {launch(8)}), 0.03), SizeIs(1));
    EXPECT_THAT(regressions(compare_results({launch(8)}, {launch(8)}), 0.03), IsEmpty());
}

TEST(ResultsGate, BelievesOneLaunchASideNeitherWay) {
    const auto change = [](double before, double after) {
        auto compared = compare_results({launch(before)}, {launch(after)});
        const measure::Change said = compared.points.at(0).comparison.value().change;
        EXPECT_EQ(said, after > before ? measure::Change::slower : measure::Change::faster);
        const std::string reason = compared.points.at(0).comparison.value().reason;
        judge_by_launches(compared);
        EXPECT_NE(compared.points.at(0).comparison.value().reason, reason) << "it is another one now";
        return compared.points.at(0).comparison.value().change;
    };
    EXPECT_EQ(change(8, 16), measure::Change::unsure);
    EXPECT_EQ(change(16, 8), measure::Change::unsure);
}

TEST(ResultsGate, BelievesSeveralLaunchesASide) {
    auto compared = compare_results(kOld, {launch(16), launch(16.01), launch(15.99)});
    judge_by_launches(compared);
    EXPECT_EQ(compared.points.at(0).comparison.value().change, measure::Change::slower);
    for (auto alone : {compare_results(kOld, {launch(16)}),
                       compare_results({launch(8)}, {launch(16), launch(16.1), launch(16.2)})}) {
        EXPECT_EQ(alone.points.at(0).comparison.value().change, measure::Change::slower);
        judge_by_launches(alone);
        EXPECT_EQ(alone.points.at(0).comparison.value().change, measure::Change::unsure) << "it may be the launch";
    }
    auto lacking = compare_results(kOld, {launch(16), results_of({}), wrong_launch()});
    judge_by_launches(lacking);
    EXPECT_EQ(lacking.points.at(0).comparison.value().change, measure::Change::unsure) << "one launch has figures";
    EXPECT_THAT(regressions(compare_results({launch(8)}, {launch(12)}), 0.03), ElementsAre(HasSubstr("by 50.0 %")));
    auto single = compare_results({launch(8)}, {launch(16)});
    judge_by_launches(single);
    EXPECT_THAT(regressions(single, 0.03), IsEmpty()) << "twice the time, but UNSURE";
    EXPECT_THAT(undecided(compare_results(kOld, {launch(8), results_of({})}), 0.03),
                ElementsAre(HasSubstr("it needs 3")));
    EXPECT_THAT(undecided(compare_results(kOld, {launch(8), launch(8.01)}), 0.03), IsEmpty());
    auto missing = compare_results(kOld, {results_of({})});
    judge_by_launches(missing);
    EXPECT_FALSE(missing.points.at(0).comparison);
}

TEST(ResultsGate, DecidesNothingWhereTheIntervalReachesTheLimit) {
    const std::vector<ResultsFile> spread = {launch(7.8), launch(8), launch(8.4)};
    EXPECT_THAT(undecided(compare_results(kOld, spread), 0.03), ElementsAre(HasSubstr("of the change reaches +7.")));
    const std::string launches =
        fmt::format(" {:.1f} %; ", 100 * compare_results(kOld, spread).points.at(0).comparison->launch_spread.value());
    EXPECT_THAT(undecided(compare_results(kOld, spread), 0.03), ElementsAre(HasSubstr(launches)));
    EXPECT_THAT(undecided(compare_results(kOld, spread), 0.1), IsEmpty());
    EXPECT_FALSE(would_launches_decide(compare_results(kOld, spread), 0.03)) << "three a side did not";
    EXPECT_TRUE(would_launches_decide(compare_results(kOld, {launch(7.8), launch(8.4)}), 0.03));
    EXPECT_FALSE(would_launches_decide(compare_results(kOld, {launch(8), launch(8.01)}), 0.03)) << "it is decided";
}

TEST(ResultsGate, PassesWhatIsSlowerByLessThanTheLimit) {
    const auto compared = compare_results(kOld, {launch(8.1), launch(8.11), launch(8.09)});
    EXPECT_EQ(compared.points.at(0).comparison.value().change, measure::Change::slower);
    EXPECT_THAT(regressions(compared, 0.01), SizeIs(1));
    EXPECT_THAT(regressions(compared, 0.03), IsEmpty());
}

TEST(ResultsGate, ShowsTheIntervalOfTheChangeFromItsLowerEnd) {
    const auto compared = compare_results(kOld, {launch(16), launch(16.8), launch(15.2)});
    const Interval ends = compared.points.at(0).comparison.value().ratio_interval.value();
    ASSERT_LT(ends.low, ends.high);
    const std::string change = fmt::format(" [{:+.1f} %, {:+.1f} %]", 100 * (ends.low - 1), 100 * (ends.high - 1));
    EXPECT_THAT(comparison_table(compared), HasSubstr("+99.8 %" + change));
    EXPECT_THAT(comparison_markdown(compared), HasSubstr(change));
}

TEST(ResultsGate, FailsForAWrongOutputInOneOfTheLaunches) {
    const auto compared = compare_results(kOld, {launch(8), wrong_launch(), launch(8)});
    EXPECT_TRUE(compared.points.at(0).comparison);
    EXPECT_THAT(regressions(compared, 0.03),
                ElementsAre(HasSubstr("a launch of NEW is left out: the output is wrong")));
    const auto all_wrong = compare_results(kOld, {wrong_launch(), wrong_launch()});
    EXPECT_THAT(regressions(all_wrong, 0.03), ElementsAre(HasSubstr("NEW: the output is wrong")));
    const auto failed = launch_without_figures(record::PointStatus::failed);
    EXPECT_THAT(regressions(compare_results(kOld, {launch(8), failed}), 0.03), SizeIs(1));
}

TEST(ResultsGate, PassesWhereOldBreaksJustSo) {
    const std::vector<ResultsFile> unsteady = {launch(8), wrong_launch(), launch(8.01)};
    EXPECT_THAT(regressions(compare_results(unsteady, unsteady), 0.03), IsEmpty());
}

TEST(ResultsGate, PassesWhereALaunchDidNotReachThePoint) {
    for (const auto status : {record::PointStatus::skipped, record::PointStatus::interrupted})
        EXPECT_THAT(regressions(compare_results(kOld, {launch(8), launch_without_figures(status)}), 0.03), IsEmpty());
    EXPECT_THAT(regressions(compare_results(kOld, {launch(8), results_of({})}), 0.03), IsEmpty());
}

TEST(ResultsGate, DecidesNothingWhereOldHasNoFigures) {
    for (const auto status : {record::PointStatus::skipped, record::PointStatus::oom}) {
        const std::vector<ResultsFile> none = {launch_without_figures(status)};
        EXPECT_THAT(undecided(compare_results(none, kOld), 0.03), ElementsAre(HasSubstr("OLD: ")));
        EXPECT_THAT(undecided(compare_results(none, none), 0.03), IsEmpty()) << "neither has them";
    }
    EXPECT_THAT(undecided(compare_results({results_of({})}, kOld), 0.03), IsEmpty()) << "a new point";
}

TEST(ResultsGate, DecidesNothingByInvalidFigures) {
    record::PointTrace point = sample_point(1, 8, 1, 100);
    point.shared_device = true;
    const std::vector<ResultsFile> invalid = {results_of({point}), launch(8.01), launch(7.99)};
    const auto compared = compare_results(kOld, invalid);
    ASSERT_TRUE(compared.points.at(0).invalid);
    EXPECT_THAT(undecided(compared, 0.03), ElementsAre(HasSubstr("INVALID")));
    EXPECT_THAT(compared.points.at(0).remarks, Contains(StartsWith("INVALID in 1 of 3 launches of NEW: ranks share")));
    EXPECT_THAT(undecided(compare_results(kOld, kOld), 0.03), IsEmpty());
    point.wall_s.assign(point.wall_s.size(), 80);
    const auto slower = compare_results(kOld, {results_of({point}), launch(80), launch(81)});
    EXPECT_THAT(undecided(slower, 0.03), IsEmpty()) << "it fails";
    EXPECT_THAT(regressions(slower, 0.03), ElementsAre(HasSubstr("SLOWER")));
}

}  // namespace
}  // namespace pb::report
