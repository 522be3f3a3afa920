#include "measure/comparison.hpp"

#include "support/random_samples.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace pb::measure {
namespace {

using test::RandomSamples;

constexpr int kTrials = 4000;

/// Returns the share of trials in which `happens` is true.
double share_of_trials(const std::function<bool()>& happens) {
    int count = 0;
    for (int trial = 0; trial < kTrials; ++trial) count += happens() ? 1 : 0;
    return static_cast<double>(count) / kTrials;
}

bool is_different(const Comparison& comparison) {
    return comparison.change == Change::faster || comparison.change == Change::slower;
}

Launch scaled(Launch launch, double factor) {
    for (double& time : launch) time *= factor;
    return launch;
}

TEST(Comparison, TheSameSamplesAreTheSameByIdentity) {
    const std::vector<Launch> run{{1.0, 1.5, 1.2}};
    const auto comparison = compare_times(run, run);
    EXPECT_EQ(comparison.change, Change::same);
    EXPECT_DOUBLE_EQ(comparison.ratio, 1);
    EXPECT_EQ(comparison.fewest_launches, 1);
}

TEST(Comparison, RatioIsNewOverOldWithItsInterval) {
    const std::vector<Launch> old_run{{1.00, 1.01, 0.99, 1.02, 0.98, 1.005}};
    const std::vector<Launch> new_run{{1.10, 1.11, 1.09, 1.12, 1.08, 1.105}};
    const auto slower = compare_times(old_run, new_run);
    EXPECT_EQ(slower.change, Change::slower);
    EXPECT_NEAR(slower.ratio, 1.1025 / 1.0025, 1e-12);
    // n = 6: the interval of each median is its extremes.
    EXPECT_NEAR(slower.ratio_interval.value().low,
                slower.ratio / std::exp(std::hypot(std::log(1.1025 / 1.08), std::log(1.02 / 1.0025))), 1e-12);
    EXPECT_DOUBLE_EQ(slower.p_value, 2.0 / 924);  // one extreme order of 12 choose 6, on each side
    EXPECT_EQ(slower.reason, "interval and test agree");
    const auto faster = compare_times(new_run, old_run);
    EXPECT_EQ(faster.change, Change::faster);
    EXPECT_EQ(faster.reason, slower.reason);
    EXPECT_EQ(slower.fewest_launches, 1);
}

TEST(Comparison, AnIntervalWithinOnePercentIsSaidToBeSo) {
    const Launch close{1.000, 1.001, 1.002, 1.003, 1.004, 1.005};
    const auto comparison = compare_times({close}, {scaled(close, 1.0001)});
    EXPECT_EQ(comparison.change, Change::same);
    EXPECT_THAT(comparison.reason, testing::HasSubstr("within 1 %"));
}

TEST(Comparison, FewRepetitionsAreUnsureAndSaySo) {
    const auto comparison = compare_times({{1.0, 1.0, 1.0}}, {{2.0, 2.1, 2.2}});
    EXPECT_EQ(comparison.change, Change::unsure);
    EXPECT_FALSE(comparison.ratio_interval.has_value());
    EXPECT_THAT(comparison.reason, testing::HasSubstr("at least 6"));
}

TEST(Comparison, FewRepetitionsOfEitherSideGiveNoInterval) {
    const Launch few{1.0, 1.1, 1.2}, many{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6};
    EXPECT_FALSE(compare_times({few}, {many}).ratio_interval);
    EXPECT_FALSE(compare_times({many}, {few}).ratio_interval);
}

TEST(Comparison, AnIntervalWithoutOneThatTheTestDoesNotConfirmIsSaidToDisagree) {
    const auto comparison =
        compare_times({{1.000, 1.001, 1.002, 1.050, 1.051, 1.052}}, {{1.040, 1.041, 1.070, 1.071, 1.072, 1.073}});
    EXPECT_GT(comparison.ratio_interval.value().low, 1);
    EXPECT_GT(comparison.p_value, 0.05);
    EXPECT_EQ(comparison.change, Change::unsure);
    EXPECT_THAT(comparison.reason, testing::StartsWith("the interval excludes 1, but by the test (p = 0.065"));
}

TEST(Comparison, ATestThatTheIntervalDoesNotConfirmIsSaidToDisagree) {
    const auto comparison =
        compare_times({{1.000, 1.010, 1.020, 1.030, 1.040, 1.300}}, {{1.045, 1.305, 1.310, 1.320, 1.330, 1.340}});
    EXPECT_LT(comparison.ratio_interval.value().low, 1);
    EXPECT_GT(comparison.ratio_interval->high, 1);
    EXPECT_LT(comparison.p_value, kSignificance);
    EXPECT_EQ(comparison.change, Change::unsure);
    EXPECT_THAT(comparison.reason, testing::StartsWith("the test finds a difference (p = 0.00"));
}

TEST(Comparison, EmptyOrImpossibleTimesAreErrors) {
    EXPECT_THROW((void)compare_times({}, {{1.0}}), Error);
    EXPECT_THROW((void)compare_times({{1.0}}, {Launch{}}), Error);
    EXPECT_THROW((void)compare_times({{1.0}}, {{0.0}}), Error);
}

TEST(Comparison, ADriftAsLargeAsTheDifferenceLeavesItUnsure) {
    Launch steady, drifting;
    for (int i = 0; i < 20; ++i) {
        steady.push_back(1 + 0.001 * (i * 7 % 20));
        drifting.push_back(1.02 + 0.01 * i);
    }
    const auto comparison = compare_times({steady}, {drifting});
    EXPECT_EQ(comparison.change, Change::unsure);
    EXPECT_THAT(comparison.reason, testing::HasSubstr("the new launch drifts"));
    EXPECT_EQ(compare_times({steady}, {scaled(drifting, 2)}).change, Change::slower);
}

TEST(Comparison, WithSeveralLaunchesTheLaunchIsTheUnit) {
    // Nothing varies within a launch, and launches differ by 3 %. Single launches look different; together they do not.
    const Launch a(20, 1.00), b(20, 1.03), c(20, 1.01), d(20, 1.02);
    EXPECT_EQ(compare_times({a}, {b}).change, Change::slower);
    const auto together = compare_times({a, b}, {c, d});
    EXPECT_EQ(together.fewest_launches, 2);
    EXPECT_EQ(together.change, Change::unsure);
}

TEST(Comparison, LaunchIntervalIsStudentsT) {
    const auto comparison = compare_times({{std::exp(0.0)}, {std::exp(0.02)}}, {{std::exp(0.50)}, {std::exp(0.52)}});
    // Pooled deviation 0.02/sqrt(2); error: that * sqrt(1/2 + 1/2); t(0.975, 2) = 4.302653.
    EXPECT_NEAR(std::log(comparison.ratio), 0.5, 1e-12);
    EXPECT_NEAR(std::log(comparison.ratio_interval.value().high), 0.5 + 4.302653 * 0.02 / std::sqrt(2.0), 1e-7);
    EXPECT_NEAR(comparison.p_value, 1 - 35.3553391 / std::sqrt(35.3553391 * 35.3553391 + 2), 1e-9);
    EXPECT_EQ(comparison.change, Change::slower);
    // Three new launches: pooled deviation sqrt(4e-4 / 3); error: that * sqrt(1/2 + 1/3); t(0.975, 3) = 3.182446.
    const auto uneven =
        compare_times({{std::exp(0.0)}, {std::exp(0.02)}}, {{std::exp(0.50)}, {std::exp(0.51)}, {std::exp(0.52)}});
    EXPECT_NEAR(std::log(uneven.ratio_interval.value().high), 0.5 + 3.182446 * std::sqrt(4e-4 / 3 * 5 / 6), 1e-7);
}

TEST(Comparison, EnoughLaunchesAreTestedByTheirRanks) {
    const auto launches = [](double first) {
        return std::vector<Launch>{{first},        {first + 0.01}, {first + 0.02},
                                   {first + 0.03}, {first + 0.04}, {first + 0.9}};
    };
    const auto comparison = compare_times(launches(1), launches(2));
    EXPECT_NEAR(comparison.p_value, 2 / 924., 1e-12) << "of the 924 orders of 6 and 6";
}

TEST(Comparison, TheSameLaunchGivenTwiceIsOneLaunch) {
    const Launch a{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6};
    const auto comparison = compare_times({a, a}, {scaled(a, 1.01), scaled(a, 1.01)});
    EXPECT_EQ(comparison.fewest_launches, 1);
}

TEST(ComparisonBySimulation, EqualRunsAreRarelyCalledDifferent) {
    RandomSamples random(1);
    for (const size_t n : {6, 10, 30}) {
        EXPECT_LE(share_of_trials([&] {
                      return is_different(compare_times({random.lognormal(n, 0.05)}, {random.lognormal(n, 0.05)}));
                  }),
                  0.01)
            << "skewed, n = " << n;
        EXPECT_LE(
            share_of_trials([&] { return is_different(compare_times({random.bimodal(n)}, {random.bimodal(n)})); }),
            0.01)
            << "bimodal, n = " << n;
    }
}

TEST(ComparisonBySimulation, EqualLaunchesAreRarelyCalledDifferent) {
    RandomSamples random(2);
    const auto launches = [&](size_t count) {
        std::vector<Launch> all;
        for (size_t i = 0; i < count; ++i)
            all.push_back(scaled(random.lognormal(8, 0.01), random.lognormal(1, 0.03).front()));
        return all;
    };
    for (const size_t count : {2, 3, 6})
        EXPECT_LE(share_of_trials([&] { return is_different(compare_times(launches(count), launches(count))); }), 0.01)
            << count << " launches";
    EXPECT_LE(share_of_trials([&] { return is_different(compare_times(launches(4), launches(1))); }), 0.01);
}

TEST(ComparisonBySimulation, ASlowDownOfThreePercentIsFound) {
    RandomSamples random(3);
    for (const size_t n : {10, 20})
        EXPECT_GE(share_of_trials([&] {
                      const auto slow = scaled(random.normal(n, 1, 0.01), 1.03);
                      return compare_times({random.normal(n, 1, 0.01)}, {slow}).change == Change::slower;
                  }),
                  0.95)
            << "n = " << n;
}

TEST(ComparisonBySimulation, IntervalCoversTheRatioAndSameLiesWithinOnePercent) {
    RandomSamples random(4);
    int sames = 0;
    const double covered = share_of_trials([&] {
        const auto slower = scaled(random.lognormal(40, 0.02), 1.004);
        const auto comparison = compare_times({random.lognormal(40, 0.02)}, {slower});
        const auto interval = comparison.ratio_interval.value();
        const bool within = interval.low >= 0.99 && interval.high <= 1.01;
        EXPECT_EQ(comparison.change == Change::same, within);
        sames += within ? 1 : 0;
        return interval.low <= 1.004 && interval.high >= 1.004;
    });
    EXPECT_GE(covered, 0.95);
    EXPECT_GT(sames, 0);
    EXPECT_LT(sames, kTrials);
}

/// Simulates launches of one program on a busy machine: their medians vary by `spread`, their repetitions by far less.
std::vector<Launch> launches_of(int count, double spread, double factor) {
    std::vector<Launch> all;
    for (int i = 0; i < count; ++i) {
        const double median = factor * (1 + spread * (2.0 * i / (count - 1) - 1));
        all.push_back(scaled({0.999, 1.0, 1.001, 0.998, 1.002, 1.0005, 0.9995}, median));
    }
    return all;
}

TEST(LaunchesNeeded, GrowWithTheSpreadAndShrinkWithTheDifference) {
    EXPECT_EQ(launches_needed(0, 0.03), kFewestLaunches);
    EXPECT_EQ(launches_needed(0.001, 0.03), kFewestLaunches);
    EXPECT_GT(launches_needed(0.02, 0.03), launches_needed(0.01, 0.03));
    EXPECT_GT(launches_needed(0.02, 0.03), launches_needed(0.02, 0.1));
    EXPECT_EQ(launches_needed(1, 0), kMostLaunches);
    // For a spread of 2 % and a slow-down of 10 % SciPy's nct gives 0.621 with 3 launches and 0.946 with 4; for 8 %
    // 0.797 with 4 and 0.955 with 5. From 6 launches on the rank-sum test decides, which needs more.
    EXPECT_EQ(launches_needed(0.02, 0.1), 4);
    EXPECT_EQ(launches_needed(0.02, 0.08), 5);
    EXPECT_EQ(launches_needed(0.02, 0.04), 11);
}

TEST(Comparison, OneLaunchASideSaysNothingOfOthersThreeDo) {
    const auto one = compare_times({launches_of(2, 0.04, 1)[0]}, {launches_of(2, 0.04, 1)[1]});
    EXPECT_EQ(one.change, Change::slower) << "8 % between two launches of one binary";
    EXPECT_EQ(one.fewest_launches, 1);
    EXPECT_EQ(one.launch_spread, std::nullopt);
    const auto several = compare_times(launches_of(3, 0.04, 1), launches_of(3, 0.04, 1.01));
    EXPECT_EQ(several.change, Change::unsure);
    EXPECT_EQ(several.fewest_launches, 3);
    const auto first = launches_of(3, 0.04, 1)[0];
    EXPECT_EQ(compare_times({first}, launches_of(3, 0.04, 1.01)).fewest_launches, 1);
    EXPECT_EQ(compare_times(launches_of(3, 0.04, 1.01), {first, first, first}).fewest_launches, 1) << "copies";
    EXPECT_NEAR(several.launch_spread.value(), 0.04, 0.001);
    EXPECT_EQ(compare_times(launches_of(3, 0.004, 1), launches_of(3, 0.004, 1.1)).change, Change::slower);
}

}  // namespace
}  // namespace pb::measure
