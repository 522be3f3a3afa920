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

}  // namespace pb
