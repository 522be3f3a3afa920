#include "base/statistics.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pb {

namespace {

std::vector<double> sorted(std::span<const double> samples) {
    require(!samples.empty(), "statistics of an empty sample");
    std::vector<double> ordered(samples.begin(), samples.end());
    std::sort(ordered.begin(), ordered.end());
    return ordered;
}

/// Probability of k heads in n fair tosses.
double fair_binomial(int64_t heads, int64_t tosses) {
    const auto k = static_cast<double>(heads);
    const auto n = static_cast<double>(tosses);
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
    const auto ordered = sorted(samples);
    const double position = q * static_cast<double>(ordered.size() - 1);
    const auto below = static_cast<size_t>(std::floor(position));
    const auto above = std::min(below + 1, ordered.size() - 1);
    return ordered[below] + (position - std::floor(position)) * (ordered[above] - ordered[below]);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double mean(std::span<const double> samples) {
    require(!samples.empty(), "mean of an empty sample");
    return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double standard_deviation(std::span<const double> samples) {
    if (samples.size() < 2) return 0;
    const double centre = mean(samples);
    double squares = 0;
    for (const double sample : samples) squares += (sample - centre) * (sample - centre);
    return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

std::optional<Interval> median_interval(std::span<const double> samples) {
    const auto n = static_cast<int64_t>(samples.size());
    // The interval [x(k), x(n+1-k)] covers the median with probability 1 - 2 P(B <= k-1), B ~ Binomial(n, 1/2).
    int64_t k = 0;
    for (double tail = fair_binomial(0, n); k < n / 2 && 1 - 2 * tail >= 0.95; tail += fair_binomial(k, n)) ++k;
    if (k == 0) return std::nullopt;
    const auto ordered = sorted(samples);
    return Interval{ordered[static_cast<size_t>(k - 1)], ordered[static_cast<size_t>(n - k)]};
}

std::vector<size_t> outliers(std::span<const double> samples) {
    constexpr size_t kFewest = 6;
    std::vector<size_t> outside;
    if (samples.size() < kFewest) return outside;
    const double first = quantile(samples, 0.25);
    const double third = quantile(samples, 0.75);
    const double reach = 1.5 * (third - first);
    for (size_t i = 0; i < samples.size(); ++i)
        if (samples[i] < first - reach || samples[i] > third + reach) outside.push_back(i);
    return outside;
}

}  // namespace pb
