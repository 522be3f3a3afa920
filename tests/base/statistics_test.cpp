#include "base/statistics.hpp"

#include "support/random_samples.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace pb {
namespace {

using test::RandomSamples;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Statistics, MedianOfEvenCountIsTheMiddle) {
    EXPECT_DOUBLE_EQ(median(std::array{4.0, 1.0, 3.0, 2.0}), 2.5);
    EXPECT_DOUBLE_EQ(median(std::array{5.0, 1.0, 3.0}), 3.0);
    EXPECT_THROW((void)median({}), Error);
}

TEST(Statistics, IntervalNeedsSixSamplesAndUsesKnownRanks) {
    std::vector<double> samples;
    for (int i = 1; i <= 5; ++i) samples.push_back(i);
    EXPECT_FALSE(median_interval(samples).has_value());
    samples.push_back(6);  // 1 - 2/64 = 0.969: the extremes
    EXPECT_DOUBLE_EQ(median_interval(samples)->low, 1);
    EXPECT_DOUBLE_EQ(median_interval(samples)->high, 6);
    for (int i = 7; i <= 10; ++i) samples.push_back(i);  // n = 10: x(2), x(9), 97.9 %
    EXPECT_DOUBLE_EQ(median_interval(samples)->low, 2);
    EXPECT_DOUBLE_EQ(median_interval(samples)->high, 9);
}

TEST(Statistics, MeanAndDeviationOfKnownSamples) {
    const std::array samples{1.0, 2.0, 6.0};
    EXPECT_DOUBLE_EQ(mean(samples), 3);
    EXPECT_DOUBLE_EQ(standard_deviation(samples), std::sqrt((4.0 + 1 + 9) / 2));
    EXPECT_DOUBLE_EQ(standard_deviation(std::array{5.0}), 0);
    EXPECT_DOUBLE_EQ(quantile(std::array{0.0, 10.0, 20.0, 40.0}, 0.9), 34) << "type 7: 0.9 x 3 = 2.7";
}

TEST(Outliers, AreCountedByTukeysFences) {
    // quartiles 2 and 4: fences at -1 and 7
    const std::array samples{1.0, 2.0, 3.0, 4.0, 100.0, -2.0, 3.0, 3.0, 3.5};
    EXPECT_THAT(outliers(samples), ElementsAre(4U, 5U));
    EXPECT_THAT(outliers(std::array{1.0, 1.0, 1.0, 1.0, 9.0}), IsEmpty()) << "five samples tell nothing";
    EXPECT_THAT(outliers(std::vector<double>(10, 1.0)), IsEmpty());
}

/// Share of `trials` in which the interval of n samples covers the median.
double coverage(int trials, double true_median, const std::function<std::vector<double>()>& draw) {
    int covered = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const Interval interval = median_interval(draw()).value();
        covered += interval.low <= true_median && true_median <= interval.high ? 1 : 0;
    }
    return static_cast<double>(covered) / trials;
}

TEST(MedianIntervalBySimulation, CoversTheMedianOfSkewedAndBimodalSamples) {
    constexpr int kTrials = 8000;
    RandomSamples random(31);
    for (const size_t n : {6, 7, 10, 20, 40}) {  // exactly 96.9, 98.4, 97.9, 95.9 and 96.2 %
        SCOPED_TRACE("n = " + std::to_string(n));
        EXPECT_GE(coverage(kTrials, 1, [&] { return random.lognormal(n, 0.5); }), 0.95);
        EXPECT_GE(coverage(kTrials, RandomSamples::kBimodalMedian, [&] { return random.bimodal(n); }), 0.95);
    }
}

TEST(MedianIntervalBySimulation, MeetsTheExactCoverage) {
    constexpr int kTrials = 20000;
    constexpr double kThreeSigma = 0.003;
    RandomSamples random(32);
    EXPECT_NEAR(coverage(kTrials, 1, [&] { return random.lognormal(7, 0.5); }), 1 - 2.0 / 128, kThreeSigma);
    EXPECT_NEAR(coverage(kTrials, 1, [&] { return random.lognormal(10, 0.5); }), 1 - 2.0 * 11 / 1024, kThreeSigma);
}

TEST(RankSum, SmallSamplesAreExact) {
    // Hand count: of the 20 orders of 3 and 3, one has u = 0, one has u = 1.
    EXPECT_DOUBLE_EQ(rank_sum_p_value(std::array{1.0, 2.0, 3.0}, std::array{4.0, 5.0, 6.0}), 0.1);
    EXPECT_DOUBLE_EQ(rank_sum_p_value(std::array{1.0, 2.0, 4.0}, std::array{3.0, 5.0, 6.0}), 0.2);
    EXPECT_DOUBLE_EQ(rank_sum_p_value(std::array{4.0, 5.0, 6.0}, std::array{1.0, 2.0, 3.0}), 0.1);
    // 4 and 5, u = 2: 1 + 1 + 2 of the 126 orders in a tail
    EXPECT_NEAR(rank_sum_p_value(std::array{1.0, 2.0, 3.0, 6.0}, std::array{4.0, 5.0, 7.0, 8.0, 9.0}), 8.0 / 126,
                1e-15);
    EXPECT_DOUBLE_EQ(smallest_rank_sum_p_value(3, 3), 0.1);
    EXPECT_THROW((void)rank_sum_p_value({}, std::array{1.0}), Error);
}

TEST(RankSum, TiesUseTheCorrectedNormalApproximation) {
    // u = 1.5, mean 4.5, a tie of 2: variance 9/12 * (7 - 6/30) = 5.1; z = 2.5 / sqrt(5.1) = 1.1070
    EXPECT_NEAR(rank_sum_p_value(std::array{1.0, 2.0, 3.0}, std::array{3.0, 4.0, 2.5}), 0.2683, 1e-4);
    EXPECT_DOUBLE_EQ(rank_sum_p_value(std::array{1.0, 1.0}, std::array{1.0, 1.0}), 1);
}

TEST(RankSum, ApproximationMeetsTheExactCounts) {
    RandomSamples random(11);
    auto a = random.normal(25, 1, 0.1);
    const auto b = random.normal(25, 1.05, 0.1);
    const double exact = rank_sum_p_value(a, b);
    a.push_back(a.front());  // a tie: the approximation
    EXPECT_NEAR(rank_sum_p_value(a, b), exact, 0.3 * exact + 0.005);
}

TEST(Trend, KendallIsExactForSmallSeries) {
    EXPECT_DOUBLE_EQ(trend_p_value(std::array{1.0, 2.0, 3.0, 4.0}), 2.0 / 24);
    EXPECT_DOUBLE_EQ(trend_p_value(std::array{4.0, 3.0, 2.0, 1.0}), 2.0 / 24);
    EXPECT_DOUBLE_EQ(trend_p_value(std::array{1.0, 2.0, 4.0, 3.0}), 2.0 * (1 + 3) / 24);
    EXPECT_DOUBLE_EQ(trend_p_value(std::array{1.0}), 1);
}

TEST(Trend, LongSeriesUseTheNormalApproximation) {
    std::vector<double> series(30);
    std::iota(series.begin(), series.end(), 1.0);
    std::swap(series[3], series[20]);
    EXPECT_LT(trend_p_value(series), 1e-6);
    EXPECT_DOUBLE_EQ(trend_p_value(std::vector<double>(30, 1.0)), 1);
    // 19 samples, 57 inversions of 171 pairs: S = 57, variance 817, z = 56 / sqrt(817)
    std::vector<double> turned(19);
    std::iota(turned.begin(), turned.end(), 0.0);
    int inversions = 0;
    while (inversions < 57)
        for (size_t i = 0; i + 1 < turned.size() && inversions < 57; ++i)
            if (turned[i] < turned[i + 1]) {
                std::swap(turned[i], turned[i + 1]);
                ++inversions;
            }
    EXPECT_NEAR(trend_p_value(turned), 0.05009, 1e-4);
}

TEST(Trend, TiesAreNeitherRisingNorFalling) {
    // S = 20 of 20 pairs that are no ties; variance (7 * 6 * 19 - 2 * 1 * 9) / 18 = 43.33; z = 19 / sqrt(43.33)
    EXPECT_NEAR(trend_p_value(std::array{1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}), 0.003899, 1e-5);
}

TEST(Trend, DriftIsOfTheThirds) {
    const Trend trend = find_trend(std::array{1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 1.5, 1.5, 9.0});
    EXPECT_DOUBLE_EQ(trend.drift, 0.5);
    EXPECT_DOUBLE_EQ(find_trend(std::array{1.0, 2.0, 3.0, 4.0, 5.0}).p_value, 1);
}

TEST(TrendBySimulation, DriftRaisesTheFlagAndNoiseDoesNot) {
    constexpr int kTrials = 2000;
    RandomSamples random(5);
    int found = 0, false_alarms = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        auto series = random.lognormal(20, 0.02);
        false_alarms += drifts(find_trend(series)) ? 1 : 0;
        for (size_t i = 0; i < series.size(); ++i) series[i] *= 1 + 0.1 * static_cast<double>(i) / 19;
        found += drifts(find_trend(series)) ? 1 : 0;
        EXPECT_FALSE(drifts(find_trend(series), 0.5)) << "no more than a tenth";
    }
    EXPECT_GE(found, 0.95 * kTrials);
    EXPECT_LE(false_alarms, 0.01 * kTrials);
}

TEST(Drift, CountsDownwardsAsUpwards) {
    std::vector<double> rising;
    for (int i = 0; i < 20; ++i) rising.push_back(1 + 0.01 * i);
    const std::vector<double> falling(rising.rbegin(), rising.rend());
    EXPECT_TRUE(drifts(find_trend(rising)));
    EXPECT_TRUE(drifts(find_trend(falling))) << "a warm-up that was too short";
}

TEST(Drift, OfLessThanMattersIsNoneWhateverTheWidth) {
    EXPECT_EQ(drift_limit(kDriftThatMatters / 10), kDriftThatMatters);
    EXPECT_EQ(drift_limit(2 * kDriftThatMatters), 2 * kDriftThatMatters);
}

}  // namespace
}  // namespace pb
