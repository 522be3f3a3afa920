#include "base/statistics.hpp"

#include "support/random_samples.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace pb {
namespace {

using test::RandomSamples;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace pb
