#include "base/statistics.hpp"
#include "support/random_samples.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace pb {
namespace {

using test::RandomSamples;

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

}  // namespace
}  // namespace pb
