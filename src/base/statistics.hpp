// Order statistics of repeated measurements. Sources: Hoefler & Belli, "Scientific benchmarking of parallel computing
// systems" (SC15), rules 5-8; Hahn & Meeker, "Statistical Intervals" (distribution-free intervals for a quantile);
// Tukey, "Exploratory Data Analysis" (fences).
#pragma once

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

}  // namespace pb
