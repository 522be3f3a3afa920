#include "measure/call_figures.hpp"

#include <cmath>

namespace pb::measure {

namespace {

constexpr size_t kFewestCallsForMean = 30;  // from here on the mean of skewed times is about normal
constexpr double kNormal95 = 1.96;

/// Returns the calls of the rank with the largest median; null where no rank has calls.
const std::vector<double>* calls_of_slowest(const record::PointTrace& trace) {
    const std::vector<double>* slowest = nullptr;
    for (const auto& rank : trace.ranks) {
        const auto& calls = rank.forward_call_s;
        if (!calls.empty() && (slowest == nullptr || median(calls) > median(*slowest))) slowest = &calls;
    }
    return slowest;
}

void add_median(const std::vector<double>& calls, Summary& summary) {
    summary.call_s = median(calls);
    if (const auto interval = median_interval(calls)) {
        summary.call_low_s = interval->low;
        summary.call_high_s = interval->high;
    }
}

void add_mean(const std::vector<double>& calls, Summary& summary) {
    summary.call_mean_s = mean(calls);
    if (calls.size() < kFewestCallsForMean) return;
    const double half = kNormal95 * standard_deviation(calls) / std::sqrt(static_cast<double>(calls.size()));
    summary.call_mean_low_s = *summary.call_mean_s - half;
    summary.call_mean_high_s = *summary.call_mean_s + half;
}

}  // namespace

std::optional<double> percentile(const std::vector<double>& samples, int percent) {
    if (static_cast<int>(samples.size()) * (100 - percent) < 100) return std::nullopt;
    return quantile(samples, percent / 100.0);
}

void add_calls(const record::PointTrace& trace, Summary& summary) {
    const std::vector<double>* const calls = calls_of_slowest(trace);
    if (calls == nullptr || summary.simulated) return;
    add_median(*calls, summary);
    add_mean(*calls, summary);
    summary.call_p90_s = percentile(*calls, 90);
    summary.call_p99_s = percentile(*calls, 99);
}

}  // namespace pb::measure
