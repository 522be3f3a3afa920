#include "measure/study/batch_curve.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace pb::measure {
namespace {

using testing::HasSubstr;

struct Planted {
    double c = 0, alpha = 1, t_min = 0, d = 0;
    [[nodiscard]] double at(double b) const { return c * std::pow(b, -alpha) + t_min + d * b; }
};

constexpr Planted kFalling{.c = 0.03, .alpha = 0.7, .t_min = 0.01, .d = 0};
constexpr Planted kRising{.c = 0.03, .alpha = 0.8, .t_min = 0.01, .d = 8e-5};

/// Returns batches 1, 2, 4 .. `largest`, whose times have relative Gaussian noise.
std::vector<BatchTime> sweep(const Planted& planted, int64_t largest, double noise, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise > 0 ? noise : 1);
    std::vector<BatchTime> times;
    for (int64_t batch = 1; batch <= largest; batch *= 2)
        times.push_back({batch, planted.at(static_cast<double>(batch)) * (1 + (noise > 0 ? normal(random) : 0))});
    return times;
}

double parameter(const BatchCurve& curve, const std::string& name) {
    const auto found = std::ranges::find(curve.parameters, name, &FittedNumber::name);
    require(found != curve.parameters.end(), "the curve has no parameter " + name);
    return found->value;
}

TEST(BatchCurve, FindsPlantedParametersWithoutNoise) {
    const auto falling = fit_batch_curve(CurveForm::falling, sweep(kFalling, 256, 0, 1)).value();
    EXPECT_NEAR(parameter(falling, "c"), kFalling.c, 1e-6);
    EXPECT_NEAR(parameter(falling, "alpha"), kFalling.alpha, 1e-4);
    EXPECT_NEAR(parameter(falling, "t_min"), kFalling.t_min, 1e-6);
    EXPECT_LT(falling.rms_residual, 1e-6);
    const auto rising = fit_batch_curve(CurveForm::rising, sweep(kRising, 256, 0, 1)).value();
    EXPECT_NEAR(parameter(rising, "alpha"), kRising.alpha, 1e-3);
    EXPECT_NEAR(parameter(rising, "d"), kRising.d, 1e-7);
    EXPECT_NEAR(parameter(rising, "t_min"), kRising.t_min, 1e-4);
}

TEST(BatchCurve, ResidualsAreRelativeAndTheLineStaysWithinTheData) {
    const auto times = sweep(kRising, 64, 0.02, 3);
    const auto curve = fit_batch_curve(CurveForm::falling, times).value();
    ASSERT_EQ(curve.residuals.size(), times.size());
    double squares = 0;
    for (const double residual : curve.residuals) squares += residual * residual;
    EXPECT_NEAR(curve.rms_residual, std::sqrt(squares / static_cast<double>(times.size())), 1e-12);
    // Three parameters and the variance, 7 times: 2 * 4 + 2 * 4 * 5 / (7 - 5).
    EXPECT_NEAR(curve.aicc.value(), 7 * std::log(squares / 7) + 8 + 20, 1e-9);
    EXPECT_EQ(curve.line.front().batch, 1);
    EXPECT_EQ(curve.line.back().batch, 64);
    EXPECT_NEAR(times[0].window_s * (1 - curve.residuals[0]), curve.line.front().window_s, 1e-9);
    const auto from_two = fit_batch_curve(CurveForm::falling, {times.begin() + 1, times.end()}).value();
    EXPECT_EQ(from_two.line.front().batch, 2);
    for (size_t i = 1; i < from_two.line.size(); ++i) EXPECT_GT(from_two.line[i].batch, from_two.line[i - 1].batch);
    EXPECT_EQ(from_two.line.back().batch, 64);
}

// The 95 % band at a batch and the interval of t_min contain the planted values in about 95 % of trials.
TEST(BatchCurve, BandAndIntervalsCoverThePlantedCurve) {
    constexpr int kTrials = 400;
    int band = 0, floor = 0, with_band = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        const auto curve =
            fit_batch_curve(CurveForm::falling, sweep(kFalling, 256, 0.01, 100 + static_cast<uint64_t>(trial))).value();
        const auto& middle = curve.line[curve.line.size() / 2];
        if (!middle.band || !curve.parameters[2].interval) continue;
        ++with_band;
        const double truth = kFalling.at(middle.batch);
        band += middle.band->low <= truth && truth <= middle.band->high ? 1 : 0;
        const auto& interval = *curve.parameters[2].interval;
        floor += interval.low <= kFalling.t_min && kFalling.t_min <= interval.high ? 1 : 0;
    }
    EXPECT_GE(with_band, kTrials * 99 / 100);
    EXPECT_GE(band, with_band * 92 / 100);
    EXPECT_LE(band, with_band * 99 / 100) << "a band that always covers is too wide to mean 95 %";
    EXPECT_GE(floor, with_band * 90 / 100);
}

TEST(BatchCurve, IntervalsAreStudentsT) {
    const std::vector<BatchTime> times{{1, 1.00}, {2, 1.01}, {4, 1.02}, {8, 1.03}};  // they rise: c is 0, t_min is free
    const auto curve = fit_batch_curve(CurveForm::falling, times).value();
    ASSERT_TRUE(curve.parameters[2].interval);
    double weights = 0, squares = 0;
    for (size_t i = 0; i < times.size(); ++i) {
        weights += 1 / (times[i].window_s * times[i].window_s);
        squares += curve.residuals[i] * curve.residuals[i];
    }
    constexpr double kQuantile = 3.182446;  // 0.975, of 3 degrees of freedom
    EXPECT_NEAR(curve.parameters[2].interval->high - parameter(curve, "t_min"),
                kQuantile * std::sqrt(squares / 3 / weights), 1e-8);
}

// Expected: the linearisation at the solution, computed by another program; 12.7062 is the quantile of 1 degree of
// freedom.
TEST(BatchCurve, FourBatchesAreEnoughForIntervalsOfAllParameters) {
    const auto curve = fit_batch_curve(CurveForm::falling, {{1, 4.0}, {2, 2.6}, {4, 1.9}, {8, 1.5}}).value();
    const std::vector<std::pair<double, double>> expected{
        {2.918242, 0.662427}, {0.921597, 0.560029}, {1.074359, 0.672915}};
    ASSERT_EQ(curve.parameters.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        const auto& [name, value, interval] = curve.parameters[i];
        EXPECT_NEAR(value, expected[i].first, 1e-5) << name;
        ASSERT_TRUE(interval) << name;
        EXPECT_NEAR(interval->high - value, expected[i].second, 1e-4) << name;
    }
    const auto half_band = [&](size_t place) {
        return curve.line.at(place).band.value().high - curve.line[place].window_s;
    };
    EXPECT_NEAR(half_band(0), 0.458429, 1e-4);
    EXPECT_NEAR(half_band(curve.line.size() / 2), 0.206975, 1e-4) << "at the square root of 8";
    EXPECT_NEAR(half_band(curve.line.size() - 1), 0.168956, 1e-4);
}

TEST(BatchCurve, AnExponentAtTheBoundOfItsSearchIsNotFixedByTheData) {
    const auto steep = fit_batch_curve(CurveForm::falling, {{1, 4}, {2, 1.01}, {4, 1}, {8, 1.01}}).value();
    EXPECT_NEAR(parameter(steep, "alpha"), 5, 0.05);
    EXPECT_FALSE(steep.parameters[1].interval);
    EXPECT_THAT(steep.notes, testing::ElementsAre(HasSubstr("bound of its search")));
    const auto flat = fit_batch_curve(CurveForm::falling, {{1, 1}, {2, 0.999}, {4, 0.996}, {8, 0.99}}).value();
    EXPECT_NEAR(parameter(flat, "alpha"), 0.05, 0.0005) << "it falls faster and faster";
    EXPECT_FALSE(flat.parameters[1].interval);
    EXPECT_THAT(flat.notes, testing::ElementsAre(HasSubstr("bound of its search")));
}

TEST(BatchCurve, ASmallExponentIsFixedByTheData) {
    const auto curve =
        fit_batch_curve(CurveForm::falling, sweep({.c = 0.03, .alpha = 0.08, .t_min = 0.01}, 256, 0, 1)).value();
    EXPECT_NEAR(parameter(curve, "alpha"), 0.08, 1e-3);
    EXPECT_TRUE(curve.parameters[1].interval);
    EXPECT_THAT(curve.notes, testing::IsEmpty());
}

TEST(BatchCurve, CoefficientsAreNeverNegative) {
    // These times only rise, so c is 0 and alpha is unknown.
    const auto curve =
        fit_batch_curve(CurveForm::rising, sweep({.c = 0, .alpha = 1, .t_min = 0.01, .d = 1e-3}, 64, 0, 1));
    ASSERT_TRUE(curve);
    EXPECT_NEAR(parameter(*curve, "c"), 0, 1e-9);
    EXPECT_NEAR(parameter(*curve, "d"), 1e-3, 1e-6);
    EXPECT_FALSE(curve->parameters[1].interval);
    const auto falling = fit_batch_curve(CurveForm::rising, sweep(kFalling, 256, 0, 1)).value();
    EXPECT_GE(parameter(falling, "d"), 0);
}

TEST(BatchCurve, ATermThatIsNotThereIsNoted) {
    const auto only_rises = fit_batch_curve(CurveForm::falling, {{1, 1.00}, {2, 1.01}, {4, 1.02}, {8, 1.03}}).value();
    EXPECT_EQ(parameter(only_rises, "c"), 0);
    EXPECT_THAT(only_rises.notes, testing::ElementsAre(HasSubstr("c = 0")));
    std::vector<BatchTime> bent = sweep(kFalling, 256, 0, 1);
    for (BatchTime& time : bent) time.window_s -= 1e-6 * static_cast<double>(time.batch);  // falls to the end
    const auto only_falls = fit_batch_curve(CurveForm::rising, bent).value();
    EXPECT_EQ(parameter(only_falls, "d"), 0);
    EXPECT_THAT(only_falls.notes, testing::ElementsAre(HasSubstr("d = 0")));
}

TEST(BatchCurve, TooFewPointsAreNoFitAndBadOnesAreRefused) {
    EXPECT_FALSE(fit_batch_curve(CurveForm::falling, sweep(kFalling, 4, 0, 1)));
    EXPECT_FALSE(fit_batch_curve(CurveForm::rising, sweep(kFalling, 8, 0, 1)));
    EXPECT_FALSE(fit_batch_curve(CurveForm::falling, {{1, 1}, {1, 1.1}, {2, 0.8}, {2, 0.9}})) << "two batches";
    EXPECT_THROW((void)fit_batch_curve(CurveForm::falling, {{1, 0}, {2, 1}, {4, 1}, {8, 1}}), Error);
    EXPECT_THROW((void)fit_batch_curve(CurveForm::falling, {{0, 1}, {2, 1}, {4, 1}, {8, 1}}), Error);
}

TEST(BatchCurve, HasACriterionFromTwoBatchesMoreThanParametersAndVarianceOn) {
    EXPECT_FALSE(fit_batch_curve(CurveForm::falling, sweep(kFalling, 16, 0.01, 1)).value().aicc);
    EXPECT_TRUE(fit_batch_curve(CurveForm::falling, sweep(kFalling, 32, 0.01, 1)).value().aicc);
    EXPECT_FALSE(fit_batch_curve(CurveForm::rising, sweep(kRising, 32, 0.01, 1)).value().aicc);
    EXPECT_TRUE(fit_batch_curve(CurveForm::rising, sweep(kRising, 64, 0.01, 1)).value().aicc);
}

TEST(BatchFit, TellsAPlantedRiseFromNone) {
    int rises = 0, falls = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const BatchFit rising = fit_batches(sweep(kRising, 256, 0.01, seed));
        rises += rising.better == BetterForm::rising ? 1 : 0;
        const BatchFit falling = fit_batches(sweep(kFalling, 256, 0.01, seed));
        falls += falling.better == BetterForm::falling ? 1 : 0;
        wrong += falling.better == BetterForm::rising ? 1 : 0;
        for (const BatchFit& fit : {rising, falling}) {
            EXPECT_EQ(fit.comparison.ends_with("the time rises again, and the data can tell"),
                      fit.better == BetterForm::rising);
            EXPECT_EQ(fit.comparison.ends_with("no rise that the data can tell"), fit.better == BetterForm::falling);
        }
    }
    EXPECT_GE(rises, 48);
    EXPECT_GE(falls, 45);
    EXPECT_LE(wrong, 1);
}

TEST(BatchFit, SaysWhenTheDataCannotTell) {
    const BatchFit few = fit_batches(sweep(kRising, 64, 0.01, 1));
    EXPECT_EQ(few.better, BetterForm::undecided);
    EXPECT_THAT(few.comparison, HasSubstr("7 batches "));
    EXPECT_TRUE(few.rising) << "it is fitted all the same";
    EXPECT_EQ(fit_batches(sweep(kRising, 128, 0.001, 1)).better, BetterForm::rising) << "8 batches can";
    EXPECT_THAT(fit_batches(sweep(kRising, 4, 0, 1)).comparison, HasSubstr("too few batches"));
}

TEST(BatchFit, ARiseWithinTheNoiseIsUndecided) {
    int undecided = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const BatchFit fit = fit_batches(sweep({.c = 0.03, .alpha = 0.8, .t_min = 0.01, .d = 6e-6}, 256, 0.02, seed));
        const bool can_tell = std::abs(fit.falling->aicc.value() - fit.rising->aicc.value()) > 2 * std::log(10);
        EXPECT_EQ(fit.better != BetterForm::undecided, can_tell) << fit.comparison;
        undecided += can_tell ? 0 : 1;
    }
    EXPECT_GT(undecided, 4);
}

TEST(BatchFit, TheLeftArmEndsAtTheFastestBatch) {
    const BatchFit fit = fit_batches(sweep(kRising, 256, 0, 1));
    ASSERT_TRUE(fit.left_arm);
    int64_t largest = 0;
    for (const auto& time : fit.left_arm->fitted) largest = std::max(largest, time.batch);
    EXPECT_EQ(largest, fit.fastest_batch);
    EXPECT_LT(fit.fastest_batch, 256);
    EXPECT_LT(fit.left_arm->rms_residual, fit.falling->rms_residual);
}

TEST(BatchFit, RecommendsTheSmallestBatchCloseToTheFastest) {
    const BatchFit fit = fit_batches({{1, 4.0}, {2, 3.0}, {4, 2.04}, {8, 2.0}, {16, 2.8}});
    EXPECT_EQ(fit.fastest_batch, 8);
    EXPECT_EQ(fit.sufficient_batch, 4);
    EXPECT_THAT(fit.sufficient_words, testing::AllOf(testing::StartsWith("2.0 % "), HasSubstr("(8)"),
                                                     testing::EndsWith("every smaller one loses more than 3 %")));
    const BatchFit steep = fit_batches({{4, 1.0}, {1, 4.0}, {2, 2.0}});
    EXPECT_EQ(steep.sufficient_batch, 4);
    EXPECT_THAT(steep.sufficient_words, HasSubstr("a larger one may be faster"));
    EXPECT_EQ(fit_batches({{4, 1.0}}).sufficient_words, "the fastest; no smaller one was measured");
    EXPECT_THROW((void)fit_batches({}), Error);
}

TEST(MemoryFit, FindsAnAffineLawItsDeviationAndTheLargestBatch) {
    const MemoryFit exact = fit_memory({{1, 130}, {2, 160}, {4, 220}, {16, 580}}).value();
    EXPECT_NEAR(exact.base_mib, 100, 1e-9);
    EXPECT_NEAR(exact.per_window_mib, 30, 1e-9);
    EXPECT_NEAR(exact.largest_deviation, 0, 1e-12);
    EXPECT_EQ(exact.largest_batch(399.9), 9);
    EXPECT_EQ(exact.largest_batch(400.1), 10);
    EXPECT_EQ(exact.largest_batch(50), 0);
    const MemoryFit bent = fit_memory({{1, 130}, {2, 176}, {4, 220}, {16, 580}}).value();
    EXPECT_GT(bent.largest_deviation, 0.05);
    EXPECT_EQ(bent.largest_deviation_batch, 2);
    EXPECT_FALSE(fit_memory({{4, 10}, {4, 11}}));
    EXPECT_FALSE(fit_memory({}));
    EXPECT_FALSE(fit_memory({{1, 10}, {2, 10}})->largest_batch(100));
    const double peak = 1572.122212338775;  // a line through three of them has a slope of 4e-29
    EXPECT_FALSE(fit_memory({{1, peak}, {2, peak}, {4, peak}})->largest_batch(500));
}

}  // namespace
}  // namespace pb::measure
