#include "measure/trace_figures.hpp"

#include "plan/rows.hpp"

#include <algorithm>
#include <cmath>

namespace pb::measure {

namespace {

constexpr size_t kFewestCallsForMean = 30;  // from here on the mean of skewed times is about normal
constexpr double kNormal95 = 1.96;

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

constexpr double kPixelsPerMpx = 1e6;
constexpr double kNegligibleShare = 0.01;

std::vector<double> values_of(const TelemetryRecord& record, Gauge gauge) {
    std::vector<double> values;
    for (const auto& sample : record.samples)
        if (sample[gauge]) values.push_back(*sample[gauge]);
    return values;
}

/// Returns the sum over the ranks for which `counts` holds; nothing unless all of these ranks have the figure.
template <class Condition>
std::optional<double> sum_of(const record::PointTrace& trace, Meter meter, const Condition& counts) {
    std::optional<double> sum;
    for (const auto& rank : trace.ranks) {
        if (!counts(rank)) continue;
        if (!rank.telemetry[meter]) return std::nullopt;
        sum = sum.value_or(0) + *rank.telemetry[meter];
    }
    return sum;
}

std::optional<double> largest(const record::PointTrace& trace, Meter meter) {
    std::optional<double> all;  // an absent optional compares as smaller than any number
    for (const auto& rank : trace.ranks) all = std::max(all, rank.telemetry[meter]);
    return all;
}

/// True when some rank has `meter` above a negligible share of its observed time.
bool is_noticeable(const record::PointTrace& trace, Meter meter) {
    return std::ranges::any_of(trace.ranks, [&](const record::RankTrace& rank) {
        const auto& seconds = rank.telemetry[meter];
        return seconds && *seconds > kNegligibleShare * rank.telemetry[Meter::observed_s].value_or(0);
    });
}

void add_energy(const record::PointTrace& trace, Summary& summary) {
    const auto passes = static_cast<double>(trace.wall_s.size());
    const double mpx = trace.useful_pixels / kPixelsPerMpx;
    summary.energy_j = quotient(sum_of(trace, Meter::energy_j, [](const record::RankTrace&) { return true; }), passes);
    summary.energy_j_per_mpx = quotient(summary.energy_j, mpx);
    const auto answers = [](const record::RankTrace& rank) { return rank.telemetry.first_on_node; };
    summary.cpu_energy_j = quotient(sum_of(trace, Meter::cpu_energy_j, answers), passes);
    summary.cpu_energy_j_per_mpx = quotient(summary.cpu_energy_j, mpx);
}

void add_gauges(const record::PointTrace& trace, Summary& summary) {
    std::vector<double> clocks, utilisations, temperatures;
    for (const auto& rank : trace.ranks) {
        if (const auto values = values_of(rank.telemetry, Gauge::sm_clock_mhz); !values.empty())
            clocks.push_back(median(values));
        if (const auto values = values_of(rank.telemetry, Gauge::utilisation_percent); !values.empty())
            utilisations.push_back(mean(values));
        if (const auto values = values_of(rank.telemetry, Gauge::temperature_c); !values.empty())
            temperatures.push_back(*std::max_element(values.begin(), values.end()));
    }
    if (!clocks.empty()) summary.sm_clock_mhz = *std::min_element(clocks.begin(), clocks.end());
    if (!utilisations.empty()) summary.gpu_utilisation_percent = mean(utilisations);
    if (!temperatures.empty()) summary.gpu_temperature_c = *std::max_element(temperatures.begin(), temperatures.end());
}

}  // namespace

const record::RankTrace* slowest_rank(const record::PointTrace& trace, bool idle_too) {
    const record::RankTrace* slowest = nullptr;
    for (const auto& rank : trace.ranks) {
        if (rank.forward_call_s.empty() || (rank.num_batches == 0 && !idle_too)) continue;
        if (slowest == nullptr || median(rank.forward_call_s) > median(slowest->forward_call_s)) slowest = &rank;
    }
    return slowest;
}

double calls_per_window(const record::PointTrace& trace, const record::RankTrace& rank) {
    const auto batch = static_cast<double>(trace.point.batch.value());
    const config::PointSettings& settings = trace.point.settings;
    if (settings.workload == config::Workload::whole || plan::is_in_bands(trace.point)) return 1 / batch;
    const auto calls = static_cast<double>(rank.num_batches);
    const bool is_padded = settings.last_batch == config::LastBatch::pad;
    return calls * rank.work_per_call / (is_padded ? calls * batch : static_cast<double>(rank.num_windows));
}

std::optional<double> percentile(const std::vector<double>& samples, int percent) {
    if (static_cast<int>(samples.size()) * (100 - percent) < 100) return std::nullopt;
    return quantile(samples, percent / 100.0);
}

void add_calls(const record::PointTrace& trace, Summary& summary) {
    const record::RankTrace* const rank = slowest_rank(trace, true);
    if (rank == nullptr || summary.simulated) return;
    const std::vector<double>& calls = rank->forward_call_s;
    add_median(calls, summary);
    add_mean(calls, summary);
    summary.call_p90_s = percentile(calls, 90);
    summary.call_p99_s = percentile(calls, 99);
}

void add_telemetry(const record::PointTrace& trace, Summary& summary) {
    add_energy(trace, summary);
    if (trace.point.device == DeviceKind::cuda) add_gauges(trace, summary);  // a CPU has cpu_percent
    summary.throttled_s = std::max(largest(trace, Meter::thermal_s), largest(trace, Meter::hardware_slowdown_s));
    summary.power_cap_s = largest(trace, Meter::power_cap_s);
}

std::optional<std::string> throttling_of(const record::PointTrace& trace) {
    if (!is_noticeable(trace, Meter::thermal_s) && !is_noticeable(trace, Meter::hardware_slowdown_s))
        return std::nullopt;
    return "a GPU slowed itself down (temperature, power supply; throttled_s says for how long); let it cool, check "
           "fans, air flow and power, run again";
}

std::vector<std::string> telemetry_notes(const record::PointTrace& trace) {
    std::vector<std::string> notes;
    if (largest(trace, Meter::other_processes).value_or(0) > 0)
        notes.emplace_back("other processes were on a GPU: they may have slowed it down; see nvidia-smi, run alone");
    if (is_noticeable(trace, Meter::power_cap_s))
        notes.emplace_back(
            "a GPU ran at its power limit (power_cap_s): compare only with devices that have the same limit");
    return notes;
}

}  // namespace pb::measure
