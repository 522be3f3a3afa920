// Order statistics of repeated measurements. Sources: Hoefler & Belli, "Scientific benchmarking of parallel computing
// systems" (SC15), rules 5-8; Hahn & Meeker, "Statistical Intervals" (distribution-free intervals for a quantile);
// Tukey, "Exploratory Data Analysis" (fences).
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pb {

struct Interval {
    double low = 0;
    double high = 0;
};

// Intervals of positive numbers, by a positive number. Larger divisors give smaller quotients.
[[nodiscard]] inline Interval operator*(const Interval& interval, double factor) {
    return {interval.low * factor, interval.high * factor};
}
[[nodiscard]] inline Interval operator/(const Interval& interval, double divisor) {
    return {interval.low / divisor, interval.high / divisor};
}
[[nodiscard]] inline Interval operator/(double dividend, const Interval& interval) {
    return Interval{dividend / interval.high, dividend / interval.low};
}

/// Median; the mean of the two middle values for an even count. Throws Error on an empty sample.
[[nodiscard]] double median(std::span<const double> samples);

/// Quantile q in [0,1] by linear interpolation of order statistics (type 7 of Hyndman & Fan 1996).
[[nodiscard]] double quantile(std::span<const double> samples, double q);

[[nodiscard]] double mean(std::span<const double> samples);

/// Sample standard deviation (n - 1); 0 for fewer than two samples.
[[nodiscard]] double standard_deviation(std::span<const double> samples);

/// Distribution-free 95 % confidence interval of the median from order statistics. Empty for n < 6, where even the
/// extremes cover less than 95 %.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> samples);

/// Positions of the samples beyond Tukey's fences, 1.5 interquartile ranges outside the quartiles. They are marked and
/// counted, never dropped. None for fewer than six samples, whose quartiles say little.
[[nodiscard]] std::vector<size_t> outliers(std::span<const double> samples);

// Tests that use the order of samples only, so skew and several modes do no harm. Two-sided p values: exact for small
// samples without ties, else the normal approximation with correction for ties and continuity.
// Sources: Mann & Whitney 1947; Mann 1945 and Kendall, "Rank Correlation Methods" (1975); Hollander & Wolfe,
// "Nonparametric Statistical Methods", for the corrections.

/// Mann-Whitney rank-sum test: p value of "both come from one distribution". Throws Error on an empty sample.
[[nodiscard]] double rank_sum_p_value(std::span<const double> a, std::span<const double> b);

/// The smallest p value that samples of these sizes can have: 2 / (a + b choose a).
[[nodiscard]] double smallest_rank_sum_p_value(int64_t num_a, int64_t num_b);

/// Mann-Kendall test: p value of "the order in time tells nothing". 1 for fewer than two samples.
[[nodiscard]] double trend_p_value(std::span<const double> series);

/// A series that goes up or down in the order in which it was measured.
struct Trend {
    double drift = 0;    // median of the last third / median of the first third - 1
    double p_value = 1;  // Mann-Kendall
    [[nodiscard]] bool is_significant() const { return p_value <= 0.01; }
};

/// A significant drift beyond this makes a median depend on when the series was cut off.
inline constexpr double kDriftThatMatters = 0.02;

/// Fewer than six samples show no trend that could be told from chance: p_value is 1 for them.
[[nodiscard]] Trend find_trend(std::span<const double> series);

/// A drift within the width that was asked for the interval (`rel_width`) leaves a figure as good as it was meant to
/// be.
[[nodiscard]] double drift_limit(double rel_width);

/// Significant, and larger than `limit`.
[[nodiscard]] bool drifts(const Trend& trend, double limit = kDriftThatMatters);

// When a point has been repeated often enough. Pure: samples and times come in, a decision goes out. Not collective:
// one rank asks it and tells the others, so that all stop on the same repetition.

/// What ended the repetitions of a point.
enum class StopReason : uint8_t { none, interval, max_reps, max_time };

struct StoppingLimits {
    int64_t min_reps = 1;
    int64_t max_reps = 0;   // wins over min_reps; 0: none
    double rel_width = 0;   // of the median's 95 % interval, relative to the median; 0: never narrow enough
    double max_time_s = 0;  // no repetition begins later, min_reps apart
};

/// The interval of the median is computed after `kFirstLook` repetitions and then after geometrically spaced numbers of
/// them only: a rule that looks after each one stops at a lucky one, and the interval covers less than it says
/// (Jennison & Turnbull, "Group Sequential Methods", 1999).
class StoppingRule {
  public:
    static constexpr int64_t kFirstLook = 20;

    explicit StoppingRule(const StoppingLimits& limits);

    /// The time of one more repetition, and the time since the first one began. Nothing may be added once done.
    void add(double sample_s, double elapsed_s);

    [[nodiscard]] bool done() const { return reason_ != StopReason::none; }
    [[nodiscard]] StopReason reason() const { return reason_; }

  private:
    [[nodiscard]] bool is_narrow() const;
    [[nodiscard]] StopReason decide(double elapsed_s);

    StoppingLimits limits_;
    int64_t fewest_;
    int64_t next_look_;
    std::vector<double> samples_;
    StopReason reason_ = StopReason::none;
};

}  // namespace pb
