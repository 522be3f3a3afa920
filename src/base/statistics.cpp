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
    std::ranges::sort(ordered);
    return ordered;
}

/// Probability of k heads in n fair tosses.
double fair_binomial(int64_t heads, int64_t tosses) {
    const auto k = static_cast<double>(heads);
    const auto n = static_cast<double>(tosses);
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
}

/// The next number of repetitions to look at: a quarter more.
int64_t look_after(int64_t reps) { return reps + (reps + 3) / 4; }

// Up to these sizes every count below is an integer that a double holds exactly.
constexpr size_t kLargestExactRankSum = 50;  // both samples together
constexpr size_t kLargestExactTrend = 18;

constexpr size_t kFewestForTrend = 6;

/// Multiplies the polynomial by (1 - q^step), or divides it, in place; higher powers are cut off.
void multiply(std::vector<double>& counts, size_t step) {
    for (size_t i = counts.size(); i-- > step;) counts[i] -= counts[i - step];
}
void divide(std::vector<double>& counts, size_t step) {
    for (size_t i = step; i < counts.size(); ++i) counts[i] += counts[i - step];
}

/// Entry u: how many orders of m and n distinct samples have the statistic u (a Gaussian binomial coefficient).
std::vector<double> rank_sum_counts(size_t m, size_t n) {
    std::vector<double> counts(m * n + 1, 0.0);
    counts[0] = 1;
    for (size_t i = 1; i <= m; ++i) {
        multiply(counts, n + i);
        divide(counts, i);
    }
    return counts;
}

/// Entry i: how many orders of n distinct samples have i inversions.
std::vector<double> inversion_counts(size_t n) {
    std::vector<double> counts(n * (n - 1) / 2 + 1, 0.0);
    counts[0] = 1;
    for (size_t i = 1; i <= n; ++i) {
        multiply(counts, i);
        divide(counts, 1);
    }
    return counts;
}

/// The counts are symmetric: both tails are as likely.
double two_sided(const std::vector<double>& counts, size_t statistic) {
    const size_t tail = std::min(statistic, counts.size() - 1 - statistic);
    double total = 0, in_tail = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        total += counts[i];
        if (i <= tail) in_tail += counts[i];
    }
    return std::min(1.0, 2 * in_tail / total);
}

double two_sided_normal(double distance, double variance) {
    if (variance <= 0) return 1;  // all samples are equal
    return std::erfc(std::max(0.0, distance) / std::sqrt(2 * variance));
}

/// Sizes of the groups of equal values, single ones left out.
std::vector<double> tie_sizes(std::vector<double> samples) {
    std::ranges::sort(samples);
    std::vector<double> sizes;
    for (auto begin = samples.begin(); begin != samples.end();) {
        const auto end = std::upper_bound(begin, samples.end(), *begin);
        if (end - begin > 1) sizes.push_back(static_cast<double>(end - begin));
        begin = end;
    }
    return sizes;
}

/// Pairs (x in a, y in b) with x > y, ties as one half.
double rank_sum_statistic(std::span<const double> a, std::span<const double> b) {
    std::vector<double> ordered(b.begin(), b.end());
    std::ranges::sort(ordered);
    double twice = 0;
    for (const double x : a) {
        const auto [equal, above] = std::equal_range(ordered.begin(), ordered.end(), x);
        twice += static_cast<double>((equal - ordered.begin()) + (above - ordered.begin()));
    }
    return twice / 2;
}

/// Pairs in which the earlier sample is larger. Sorts them (merge sort, Knight 1966).
int64_t sort_and_count_inversions(std::span<double> series) {
    if (series.size() < 2) return 0;
    const size_t half = series.size() / 2;
    const auto left = series.first(half);
    const auto right = series.subspan(half);
    int64_t inversions = sort_and_count_inversions(left) + sort_and_count_inversions(right);
    for (auto x = left.begin(), y = right.begin(); x != left.end(); ++x) {
        while (y != right.end() && *y < *x) ++y;
        inversions += y - right.begin();
    }
    std::inplace_merge(series.begin(), series.begin() + static_cast<ptrdiff_t>(half), series.end());
    return inversions;
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

double rank_sum_p_value(std::span<const double> a, std::span<const double> b) {
    require(!a.empty() && !b.empty(), "rank test of an empty sample");
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    const auto ties = tie_sizes(all);
    const double u = rank_sum_statistic(a, b);
    if (ties.empty() && all.size() <= kLargestExactRankSum)
        return two_sided(rank_sum_counts(a.size(), b.size()), static_cast<size_t>(u));
    const auto m = static_cast<double>(a.size());
    const auto n = static_cast<double>(b.size());
    double tied = 0;
    for (const double t : ties) tied += t * t * t - t;
    const double variance = m * n / 12 * (m + n + 1 - tied / ((m + n) * (m + n - 1)));
    return two_sided_normal(std::abs(u - m * n / 2) - 0.5, variance);
}

double smallest_rank_sum_p_value(int64_t num_a, int64_t num_b) {
    const auto a = static_cast<double>(num_a);
    const auto b = static_cast<double>(num_b);
    return std::min(1.0, 2 * std::exp(std::lgamma(a + 1) + std::lgamma(b + 1) - std::lgamma(a + b + 1)));
}

double trend_p_value(std::span<const double> series) {
    if (series.size() < 2) return 1;
    std::vector<double> sorted(series.begin(), series.end());
    const int64_t inversions = sort_and_count_inversions(sorted);
    const auto ties = tie_sizes(sorted);
    if (ties.empty() && series.size() <= kLargestExactTrend)
        return two_sided(inversion_counts(series.size()), static_cast<size_t>(inversions));
    const auto n = static_cast<double>(series.size());
    double pairs = n * (n - 1) / 2;
    double tied = 0;
    for (const double t : ties) {
        pairs -= t * (t - 1) / 2;
        tied += t * (t - 1) * (2 * t + 5);
    }
    const double variance = (n * (n - 1) * (2 * n + 5) - tied) / 18;
    return two_sided_normal(std::abs(pairs - 2 * static_cast<double>(inversions)) - 1, variance);
}

Trend find_trend(std::span<const double> series) {
    if (series.size() < kFewestForTrend) return {};
    const size_t third = series.size() / 3;
    const double before = median(series.first(third));
    Trend trend{.drift = 0, .p_value = trend_p_value(series)};
    if (before > 0) trend.drift = median(series.last(third)) / before - 1;
    return trend;
}

double drift_limit(double rel_width) { return std::max(kDriftThatMatters, rel_width); }

bool drifts(const Trend& trend, double limit) { return trend.is_significant() && std::abs(trend.drift) > limit; }

StoppingRule::StoppingRule(const StoppingLimits& limits)
    : limits_(limits),
      fewest_(limits.max_reps > 0 ? std::min(limits.min_reps, limits.max_reps) : limits.min_reps),
      next_look_(std::max(limits.min_reps, kFirstLook)) {}

void StoppingRule::add(double sample_s, double elapsed_s) {
    require(!done(), "a repetition after the last one");
    samples_.push_back(sample_s);
    reason_ = decide(elapsed_s);
}

bool StoppingRule::is_narrow() const {
    const auto interval = median_interval(samples_);
    return interval && interval->high - interval->low < limits_.rel_width * median(samples_);
}

StopReason StoppingRule::decide(double elapsed_s) {
    const auto reps = static_cast<int64_t>(samples_.size());
    if (reps < fewest_) return StopReason::none;
    if (reps == next_look_) {
        if (is_narrow()) return StopReason::interval;
        next_look_ = look_after(reps);
    }
    if (reps == limits_.max_reps) return StopReason::max_reps;
    return elapsed_s >= limits_.max_time_s ? StopReason::max_time : StopReason::none;
}

}  // namespace pb
