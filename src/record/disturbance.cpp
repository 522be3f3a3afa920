// What else went on on the hosts while a point was timed, in words and as shares: functions of rank.hpp and point.hpp.
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "plan/rows.hpp"
#include "record/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb::record {

namespace {

// Smaller figures are not named: the kernel counts in ticks of 10 ms, and every host has a little of each.
constexpr double kCoresWorthNaming = 0.1;     // that others used, or the hypervisor took
constexpr double kSecondsWorthNaming = 0.05;  // of any of them: five ticks
constexpr double kPressureWorthNaming = 0.1;  // of the time
constexpr double kClockWorthNaming = 0.03;    // change of the clock

struct HostCounts {
    double own_cpu_s = 0;
    bool all_own_known = true;
    const TelemetryRecord* first = nullptr;  // of the rank that read the host's counters
};

std::map<std::string, HostCounts> by_host(std::span<const RankTrace> ranks) {
    std::map<std::string, HostCounts> hosts;
    for (const auto& rank : ranks) {
        HostCounts& host = hosts[rank.host];
        const auto& own = rank.telemetry[Meter::own_cpu_s];
        host.own_cpu_s += own.value_or(0);
        host.all_own_known = host.all_own_known && own.has_value();
        if (rank.telemetry[Meter::host_cpu_s]) host.first = &rank.telemetry;
    }
    return hosts;
}

void add_clock(const TelemetryRecord& record, std::string& words) {
    const auto& begin = record[Meter::cpu_clock_begin_mhz];
    const auto& end = record[Meter::cpu_clock_end_mhz];
    if (!begin || !end || *begin <= 0 || std::abs(*end / *begin - 1) < kClockWorthNaming) return;
    add_item(words, fmt::format("the processors' clock went from {:.2f} to {:.2f} GHz", *begin / 1000, *end / 1000));
}

/// Whether `counted_s` of `observed_s` can move a time by percents.
bool counts(double counted_s, double observed_s, double least_share) {
    return counted_s >= std::max(least_share * observed_s, kSecondsWorthNaming);
}

/// CPU time of the host's other processes.
double processes_cpu_s(const HostCounts& host) { return *(*host.first)[Meter::host_cpu_s] - host.own_cpu_s; }

/// What others took of the host's cores.
void add_foreign_work(const HostCounts& host, double observed_s, std::string& words) {
    const double steal_s = (*host.first)[Meter::steal_s].value_or(0);
    if (counts(steal_s, observed_s, kCoresWorthNaming))
        add_item(words,
                 fmt::format("the hypervisor gave {:.1f} of its cores to others (steal time)", steal_s / observed_s));
    const double others_s = processes_cpu_s(host);
    if (host.all_own_known && counts(others_s, observed_s, kCoresWorthNaming))
        add_item(words, fmt::format("other processes used {:.1f} cores", others_s / observed_s));
}

/// What the ranks themselves may have caused, too.
void add_effects(const TelemetryRecord& record, double observed_s, std::string& words) {
    const double pressure_s = record[Meter::cpu_pressure_s].value_or(0);
    if (counts(pressure_s, observed_s, kPressureWorthNaming))
        add_item(words, fmt::format("something waited for a core {:.0f} % of the time", 100 * pressure_s / observed_s));
    add_clock(record, words);
}

/// `describe` adds the words of a host whose counters were read.
template <class Describe>
std::string join_hosts(std::span<const RankTrace> ranks, const Describe& describe) {
    std::string all;
    for (const auto& [name, host] : by_host(ranks)) {
        const double observed_s = host.first == nullptr ? 0 : (*host.first)[Meter::observed_s].value_or(0);
        if (observed_s <= 0) continue;
        std::string words;
        describe(host, observed_s, words);
        if (!words.empty()) add_item(all, fmt::format("{}: {}", name, words), "; ");
    }
    return all;
}

bool is_timed_by_processors(const PointTrace& trace) {
    return trace.point.device == DeviceKind::cpu && !plan::is_simulated(trace.point);
}

}  // namespace

std::string disturbance_of(std::span<const RankTrace> ranks) {
    return join_hosts(ranks, [](const HostCounts& host, double observed_s, std::string& words) {
        add_foreign_work(host, observed_s, words);
        add_effects(*host.first, observed_s, words);
    });
}

std::string foreign_work_of(std::span<const RankTrace> ranks) { return join_hosts(ranks, add_foreign_work); }

std::optional<double> core_share_of(const PointTrace& trace, double least_s) {
    const bool may_compute_elsewhere = trace.point.settings.engine == EngineKind::python;
    if (!is_timed_by_processors(trace) || may_compute_elsewhere) return std::nullopt;
    // A rank that waits for another spins: in a sum that would make up for a core that it lacked in other repetitions.
    std::vector<double> least_shares(trace.wall_s.size(), 1);
    bool is_known = false;
    for (const RankTrace& rank : trace.ranks) {
        const size_t repetitions = std::min({least_shares.size(), rank.stage_s.size(), rank.cpu_s.size()});
        double forward_s = 0, own_s = 0;
        for (size_t i = 0; i < repetitions; ++i) {
            forward_s += rank.stage_s[i][Stage::forward];
            own_s += rank.cpu_s[i];
        }
        if (forward_s < least_s || own_s <= 0) continue;
        is_known = true;
        for (size_t i = 0; i < repetitions; ++i)
            if (const double call_s = rank.stage_s[i][Stage::forward]; call_s > 0)
                least_shares[i] = std::min(least_shares[i], rank.cpu_s[i] / call_s);
    }
    return is_known ? std::optional(median(least_shares)) : std::nullopt;
}

double crowding_of(const PointTrace& trace) {
    constexpr double kLeastSeconds = 1, kLeastPressure = 0.5;
    if (!is_timed_by_processors(trace)) return 0;
    double most = 0;
    for (const auto& [name, host] : by_host(trace.ranks)) {
        if (host.first == nullptr || !host.all_own_known || host.own_cpu_s <= 0) continue;
        const TelemetryRecord& record = *host.first;
        const double observed_s = record[Meter::observed_s].value_or(0);
        const double pressure_s = record[Meter::cpu_pressure_s].value_or(0);
        if (observed_s < kLeastSeconds || pressure_s < kLeastPressure * observed_s) continue;
        const double others_s = processes_cpu_s(host) + record[Meter::steal_s].value_or(0);
        most = std::max(most, others_s / host.own_cpu_s);
    }
    return most;
}

}  // namespace pb::record
