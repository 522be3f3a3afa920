#include "measure/comparison.hpp"

#include "base/mapped.hpp"

#include "patchbench/base/error.hpp"

#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::measure {

namespace {

using Launches = std::vector<Launch>;
using StudentT = boost::math::students_t;
using NoncentralT = boost::math::non_central_t;

constexpr double kConfidence = 0.95;
constexpr const char* kMeasureMore = "measure more launches";

Launches distinct(const Launches& launches) {
    require(!launches.empty(), "comparison with no launch on one side");
    Launches kept;
    for (const auto& launch : launches) {
        require(!launch.empty() && *std::min_element(launch.begin(), launch.end()) > 0,
                "comparison of a launch without samples or with a time that is not positive");
        if (std::ranges::find(kept, launch) == kept.end()) kept.push_back(launch);
    }
    return kept;
}

/// Returns the interval of ln(new median / old median), computed from the intervals of both medians.
std::optional<Interval> log_ratio_interval(const Launch& old_times, const Launch& new_times) {
    const auto old_interval = median_interval(old_times);
    const auto new_interval = median_interval(new_times);
    if (!old_interval || !new_interval) return std::nullopt;
    const double old_log = std::log(median(old_times));
    const double new_log = std::log(median(new_times));
    const double down = std::hypot(new_log - std::log(new_interval->low), std::log(old_interval->high) - old_log);
    const double up = std::hypot(std::log(new_interval->high) - new_log, old_log - std::log(old_interval->low));
    return Interval{new_log - old_log - down, new_log - old_log + up};
}

Interval exponential(const Interval& logs) { return {std::exp(logs.low), std::exp(logs.high)}; }

Comparison compare_repetitions(const Launch& old_times, const Launch& new_times) {
    Comparison comparison;
    comparison.ratio = median(new_times) / median(old_times);
    comparison.p_value = rank_sum_p_value(old_times, new_times);
    if (const auto logs = log_ratio_interval(old_times, new_times)) comparison.ratio_interval = exponential(*logs);
    return comparison;
}

std::vector<double> log_medians(const Launches& launches) {
    return mapped(launches, [](const auto& launch) { return std::log(median(launch)); });
}

/// Returns the t for which |T| <= t has this probability in Student's distribution. Use it for means of few launches,
/// not for single repetitions: their times are not normal.
double two_sided_quantile(double probability, int degrees) {
    return quantile(StudentT(degrees), (1 + probability) / 2);
}

/// Returns the standard deviation of the launches of both sides about the mean of their own side.
double pooled_deviation(const std::vector<double>& a, const std::vector<double>& b, int degrees) {
    const double squares = std::pow(standard_deviation(a), 2) * static_cast<double>(a.size() - 1) +
                           std::pow(standard_deviation(b), 2) * static_cast<double>(b.size() - 1);
    return std::sqrt(squares / degrees);
}

double launch_p_value(const std::vector<double>& old_logs, const std::vector<double>& new_logs, double t, int degrees) {
    const auto smallest =
        smallest_rank_sum_p_value(static_cast<int64_t>(old_logs.size()), static_cast<int64_t>(new_logs.size()));
    if (smallest <= kSignificance) return rank_sum_p_value(old_logs, new_logs);
    return 2 * cdf(complement(StudentT(degrees), t));
}

Comparison compare_by_launch(const Launches& old_launches, const Launches& new_launches) {
    const auto old_logs = log_medians(old_launches);
    const auto new_logs = log_medians(new_launches);
    const auto num_old = static_cast<double>(old_logs.size());
    const auto num_new = static_cast<double>(new_logs.size());
    const int degrees = static_cast<int>(old_logs.size() + new_logs.size()) - 2;
    const double difference = mean(new_logs) - mean(old_logs);
    const double spread = pooled_deviation(old_logs, new_logs, degrees);
    const double error = spread * std::sqrt(1 / num_old + 1 / num_new);
    const double half_width = two_sided_quantile(kConfidence, degrees) * error;

    Comparison comparison;
    comparison.launch_spread = spread;
    comparison.ratio = std::exp(difference);
    comparison.ratio_interval = exponential({difference - half_width, difference + half_width});
    const double t = difference == 0 ? 0 : std::abs(difference) / error;
    comparison.p_value = launch_p_value(old_logs, new_logs, t, degrees);
    return comparison;
}

bool lies_within_margin(const Interval& interval) {
    return interval.low >= 1 - kSameWithin && interval.high <= 1 + kSameWithin;
}

void decide(Comparison& comparison) {
    const auto& interval = comparison.ratio_interval;
    const bool is_significant = comparison.p_value <= kSignificance;
    if (!interval) {
        comparison.reason = "too few repetitions for an interval; measure at least 6 on both sides";
    } else if (lies_within_margin(*interval)) {
        comparison.change = Change::same;
        comparison.reason = "the interval of the ratio lies within 1 %";
    } else if (interval->low > 1 && is_significant) {
        comparison.change = Change::slower;
        comparison.reason = "interval and test agree";
    } else if (interval->high < 1 && is_significant) {
        comparison.change = Change::faster;
        comparison.reason = "interval and test agree";
    } else if (is_significant) {
        comparison.reason = fmt::format("the test finds a difference (p = {:.2g}), but the interval includes 1; {}",
                                        comparison.p_value, kMeasureMore);
    } else if (interval->low > 1 || interval->high < 1) {
        comparison.reason = fmt::format("the interval excludes 1, but by the test (p = {:.2g}) that may be chance; {}",
                                        comparison.p_value, kMeasureMore);
    } else {
        comparison.reason = fmt::format("no difference shown, and the interval is wider than 1 %; {}", kMeasureMore);
    }
}

/// Makes the comparison UNSURE when a launch drifts by as much as the two differ: with other start or end times they
/// might be equal.
void doubt_drift(const Launch& old_times, const Launch& new_times, Comparison& comparison) {
    if (comparison.change != Change::faster && comparison.change != Change::slower) return;
    for (const Launch* launch : {&old_times, &new_times}) {
        const Trend trend = find_trend(*launch);
        if (!drifts(trend) || std::abs(trend.drift) < std::abs(comparison.ratio - 1)) continue;
        comparison.change = Change::unsure;
        comparison.reason = launch == &old_times ? "the old" : "the new";
        comparison.reason += " launch drifts by as much as the two differ; warm up longer and measure again";
        return;
    }
}

}  // namespace

int64_t launches_needed(double spread, double slower) {
    if (spread <= 0) return kFewestLaunches;
    constexpr double kFourInFive = 0.8;
    // The rank-sum test needs more launches than the t test. Simulated for 6 to 20 a side: power from 0.78 to 0.85.
    constexpr double kRankSumEfficiency = 0.87;
    constexpr double kSurelyFound = 50;  // in standard errors
    const double difference = std::log1p(slower);
    for (int64_t launches = kFewestLaunches; launches < kMostLaunches; ++launches) {
        const double critical = two_sided_quantile(1 - kSignificance, static_cast<int>(2 * launches - 2));
        const bool by_ranks = smallest_rank_sum_p_value(launches, launches) <= kSignificance;
        const double counted = static_cast<double>(launches) * (by_ranks ? kRankSumEfficiency : 1);
        const double shift = std::min(kSurelyFound, difference / (spread * std::sqrt(2 / counted)));
        if (cdf(complement(NoncentralT(static_cast<double>(2 * launches - 2), shift), critical)) >= kFourInFive)
            return launches;
    }
    return kMostLaunches;
}

double typical_time(const std::vector<Launch>& launches) { return std::exp(mean(log_medians(distinct(launches)))); }

Comparison compare_times(const std::vector<Launch>& old_launches, const std::vector<Launch>& new_launches) {
    const Launches olds = distinct(old_launches);
    const Launches news = distinct(new_launches);
    if (olds == news) {
        Comparison itself;
        itself.change = Change::same;
        itself.ratio_interval = Interval{1, 1};
        itself.reason = "the same samples on both sides";
        return itself;
    }
    const bool single = olds.size() == 1 && news.size() == 1;
    Comparison comparison = single ? compare_repetitions(olds.front(), news.front()) : compare_by_launch(olds, news);
    decide(comparison);
    comparison.fewest_launches = std::min(olds.size(), news.size());
    if (single) doubt_drift(olds.front(), news.front(), comparison);
    return comparison;
}

}  // namespace pb::measure
