#include "base/statistics.hpp"
#include "support/random_samples.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace pb {
namespace {

using test::RandomSamples;

constexpr double kLong = 1e9;

/// Repetitions until the rule is done; each takes `sample_s`, and so much time passes.
int64_t repeat(StoppingRule& rule, double sample_s) {
    int64_t reps = 0;
    while (!rule.done()) {
        ++reps;
        rule.add(sample_s, sample_s * static_cast<double>(reps));
    }
    return reps;
}

TEST(StoppingRule, NoTimeMeansTheFewestRepetitions) {
    StoppingRule rule({.min_reps = 3, .max_reps = 0, .rel_width = 0.05, .max_time_s = 0});
    EXPECT_FALSE(rule.done());
    EXPECT_EQ(repeat(rule, 1), 3);
    EXPECT_EQ(rule.reason(), StopReason::max_time);
    EXPECT_THROW(rule.add(1, 1), Error);
}

TEST(StoppingRule, TimeEndsAfterTheRepetitionThatReachesIt) {
    StoppingRule rule({.min_reps = 3, .max_reps = 0, .rel_width = 0, .max_time_s = 9.5});
    EXPECT_EQ(repeat(rule, 1), 10);
    EXPECT_EQ(rule.reason(), StopReason::max_time);
}

TEST(StoppingRule, MostRepetitionsWinOverFewest) {
    StoppingRule rule({.min_reps = 3, .max_reps = 1, .rel_width = 0.05, .max_time_s = kLong});
    EXPECT_EQ(repeat(rule, 1), 1);
    EXPECT_EQ(rule.reason(), StopReason::max_reps);
}

TEST(StoppingRule, ANarrowIntervalEndsAtALookOnly) {
    for (const auto& [min_reps, expected] : {std::pair<int64_t, int64_t>{3, 20}, {50, 50}}) {
        StoppingRule rule({.min_reps = min_reps, .max_reps = 1000, .rel_width = 0.01, .max_time_s = kLong});
        EXPECT_EQ(repeat(rule, 1), expected);
        EXPECT_EQ(rule.reason(), StopReason::interval);
    }
    // Wide until the 21st repetition, narrow after: found at the second look, a quarter after the first.
    StoppingRule rule({.min_reps = 3, .max_reps = 1000, .rel_width = 0.5, .max_time_s = kLong});
    for (int i = 0; i < 12; ++i) rule.add(i % 2 == 0 ? 1 : 3, 0);
    EXPECT_EQ(12 + repeat(rule, 3), 25);
    EXPECT_EQ(rule.reason(), StopReason::interval);
}

TEST(StoppingRule, NoWidthIsNeverNarrow) {
    StoppingRule rule({.min_reps = 3, .max_reps = 40, .rel_width = 0, .max_time_s = kLong});
    EXPECT_EQ(repeat(rule, 1), 40);
}

using Draw = std::function<double()>;
constexpr int kTrials = 3000;

struct Coverage {
    double covered = 0;      // share of trials in which the interval holds the true median
    double by_interval = 0;  // share that a narrow interval ended
};

/// Repeats until the rule is done, `kTrials` times.
Coverage coverage_after_stopping(const StoppingLimits& limits, double true_median, const Draw& draw) {
    Coverage share;
    for (int trial = 0; trial < kTrials; ++trial) {
        StoppingRule rule(limits);
        std::vector<double> samples;
        while (!rule.done()) {
            samples.push_back(draw());
            rule.add(samples.back(), 0);
        }
        const Interval interval = median_interval(samples).value();
        share.covered += interval.low <= true_median && true_median <= interval.high ? 1.0 / kTrials : 0;
        share.by_interval += rule.reason() == StopReason::interval ? 1.0 / kTrials : 0;
    }
    return share;
}

TEST(StoppingBySimulation, IntervalStillCoversTheMedianOfSkewedSamples) {
    RandomSamples random(21);
    for (const double width : {0.05, 0.1, 0.2}) {
        const auto share =
            coverage_after_stopping({.min_reps = 3, .max_reps = 400, .rel_width = width, .max_time_s = kLong}, 1,
                                    [&] { return random.lognormal(1, 0.2).front(); });
        EXPECT_GE(share.covered, 0.93) << "width " << width;
        EXPECT_GE(share.by_interval, 0.05) << "width " << width;
    }
}

TEST(StoppingBySimulation, IntervalStillCoversTheMedianOfBimodalSamples) {
    RandomSamples random(22);
    for (const double width : {0.05, 0.1, 0.2}) {
        const auto share =
            coverage_after_stopping({.min_reps = 3, .max_reps = 400, .rel_width = width, .max_time_s = kLong},
                                    RandomSamples::kBimodalMedian, [&] { return random.bimodal(1).front(); });
        EXPECT_GE(share.covered, 0.93) << "width " << width;
        EXPECT_GE(share.by_interval, 0.05) << "width " << width;
    }
}

}  // namespace
}  // namespace pb
