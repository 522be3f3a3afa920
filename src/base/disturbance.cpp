#include "patchbench/base/disturbance.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>

namespace pb {

namespace {

// Below these a figure is named by nobody: the kernel counts in ticks of 10 ms, and every host has a little of each.
constexpr double kCoresWorthNaming = 0.1;     // that others used, or the hypervisor took
constexpr double kPressureWorthNaming = 0.1;  // of the time
constexpr double kClockWorthNaming = 0.03;    // change of the clock

struct HostCounts {
    double own_cpu_s = 0;
    bool all_own_known = true;
    const TelemetryRecord* first = nullptr;  // of the rank that read the host's counters
};

std::string text_of(const char* format, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::map<std::string, HostCounts> by_host(std::span<const RankLoad> ranks) {
    std::map<std::string, HostCounts> hosts;
    for (const auto& rank : ranks) {
        HostCounts& host = hosts[rank.host];
        const auto& own = (*rank.record)[Meter::own_cpu_s];
        host.own_cpu_s += own.value_or(0);
        host.all_own_known = host.all_own_known && own.has_value();
        if ((*rank.record)[Meter::host_cpu_s]) host.first = rank.record;
    }
    return hosts;
}

class Words {
  public:
    void add(const std::string& words) { text_ += (text_.empty() ? "" : ", ") + words; }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
};

void add_clock(const TelemetryRecord& record, Words& words) {
    const auto& begin = record[Meter::cpu_clock_begin_mhz];
    const auto& end = record[Meter::cpu_clock_end_mhz];
    if (!begin || !end || *begin <= 0 || std::abs(*end / *begin - 1) < kClockWorthNaming) return;
    words.add("the processors' clock went from " + text_of("%.2f", *begin / 1000) + " to " +
              text_of("%.2f GHz", *end / 1000));
}

std::string words_of(const HostCounts& host) {
    if (host.first == nullptr) return "";
    const TelemetryRecord& record = *host.first;
    const double seconds = record[Meter::observed_s].value_or(0);
    if (seconds <= 0) return "";
    Words words;
    const double steal = record[Meter::steal_s].value_or(0) / seconds;
    if (steal >= kCoresWorthNaming)
        words.add("the hypervisor gave " + text_of("%.1f", steal) + " of its cores to others (steal time)");
    const double others = (*record[Meter::host_cpu_s] - host.own_cpu_s) / seconds;
    if (host.all_own_known && others >= kCoresWorthNaming)
        words.add("other processes used " + text_of("%.1f", others) + " cores");
    const double pressure = record[Meter::cpu_pressure_s].value_or(0) / seconds;
    if (pressure >= kPressureWorthNaming)
        words.add("something waited for a core " + text_of("%.0f", 100 * pressure) + " % of the time");
    add_clock(record, words);
    return words.text();
}

}  // namespace

std::string disturbance_of(std::span<const RankLoad> ranks) {
    std::string all;
    for (const auto& [name, host] : by_host(ranks))
        if (const std::string words = words_of(host); !words.empty()) {
            if (!all.empty()) all += "; ";
            all.append(name).append(": ").append(words);
        }
    return all;
}

}  // namespace pb
