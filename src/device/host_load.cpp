#include "device/host_load.hpp"

#include "device/kernel_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <sstream>

namespace pb::device {

namespace {

/// "cpu  user nice system idle iowait irq softirq steal guest guest_nice" in ticks; guests are within user and nice.
void read_cpu_time(const std::filesystem::path& file, HostLoad& load) {
    const auto line = find_value(file, "cpu");
    const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
    if (!line || ticks_per_s <= 0) return;
    std::istringstream text(*line);
    std::array<double, 8> ticks{};
    for (double& count : ticks)
        if (!(text >> count)) return;
    const auto& [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    load.cpu_s = (user + nice + system + irq + softirq) / ticks_per_s;
    load.steal_s = steal / ticks_per_s;
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", the last in microseconds.
std::optional<double> pressure_of(const std::filesystem::path& file) {
    constexpr std::string_view kTotal = "total=";
    const auto line = find_value(file, "some");
    if (!line) return std::nullopt;
    const size_t place = line->find(kTotal);
    if (place == std::string::npos) return std::nullopt;
    std::istringstream text(line->substr(place + kTotal.size()));
    double microseconds = 0;
    if (!(text >> microseconds)) return std::nullopt;
    return microseconds / 1e6;
}

/// A reading can take the kernel milliseconds a core: few are enough to see that clocks change.
std::optional<double> clock_of(const std::filesystem::path& cpus) {
    constexpr int kCores = 4;
    double khz = 0;
    int read = 0;
    for (int core = 0; core < kCores; ++core) {
        const auto now = find_number(cpus / fmt::format("cpu{}", core) / "cpufreq" / "scaling_cur_freq");
        if (!now) continue;
        khz += static_cast<double>(*now);
        ++read;
    }
    return read > 0 ? std::optional(khz / read / 1000) : std::nullopt;
}

}  // namespace

HostLoad read_host_load(const HostLoadFiles& files) {
    HostLoad load;
    read_cpu_time(files.stat, load);
    load.pressure_s = pressure_of(files.pressure);
    load.clock_mhz = clock_of(files.cpus);
    return load;
}

}  // namespace pb::device
