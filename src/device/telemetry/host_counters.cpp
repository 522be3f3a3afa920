#include "device/telemetry/host_counters.hpp"

#include "device/host_memory.hpp"
#include "device/processors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <ranges>
#include <sstream>
#include <string>
#include <system_error>

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

/// The mean of the first processors that this process may run on. A reading can take the kernel milliseconds a core,
/// and few are enough to see that clocks change.
std::optional<double> clock_of(const std::filesystem::path& cpus) {
    constexpr size_t kMost = 4;
    double khz = 0;
    int read = 0;
    for (const int number : affinity() | std::views::take(kMost)) {
        const auto now = find_number(cpus / fmt::format("cpu{}", number) / "cpufreq" / "scaling_cur_freq");
        if (!now) continue;
        khz += static_cast<double>(*now);
        ++read;
    }
    return read > 0 ? std::optional(khz / read / 1000) : std::nullopt;
}

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
    std::string word;
    std::ifstream(file) >> word;
    return word;
}

bool is_package(const fs::path& zone) {
    // A part of a package is "intel-rapl:0:1", and "intel-rapl-mmio:0" counts the same package again.
    const std::string name = zone.filename().string();
    const std::string prefix = "intel-rapl:";
    return name.starts_with(prefix) && name.find(':', prefix.size()) == std::string::npos &&
           first_word(zone / "name").starts_with("package-");
}

}  // namespace

HostLoad read_host_load(const std::filesystem::path& proc, const std::filesystem::path& cpus) {
    HostLoad load;
    read_cpu_time(proc / "stat", load);
    load.pressure_s = pressure_of(proc / "pressure" / "cpu");
    load.clock_mhz = clock_of(cpus);
    return load;
}

ProcessorEnergy::ProcessorEnergy(const fs::path& folder) {
    std::error_code absent;
    for (const auto& zone : fs::directory_iterator(folder, absent)) {
        if (!is_package(zone.path())) continue;
        const auto range_uj = find_number(zone.path() / "max_energy_range_uj");
        const auto now_uj = find_number(zone.path() / "energy_uj");
        readable_ = readable_ && range_uj && now_uj;
        packages_.push_back({zone.path() / "energy_uj", range_uj.value_or(0), now_uj.value_or(0)});
    }
    if (!packages_.empty() && readable_) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::optional<double> ProcessorEnergy::joules() {
    const std::scoped_lock lock(mutex_);
    read();
    return packages_.empty() || !readable_ ? std::nullopt : std::optional(total_uj_ * 1e-6);
}

/// Half the time in which the first counter wraps if its package takes a kilowatt.
std::chrono::milliseconds ProcessorEnergy::period() const {
    constexpr int64_t kMostWatts = 1000, kUjPerWattMs = 1000, kShortestMs = 1;
    int64_t range_uj = std::numeric_limits<int64_t>::max();
    for (const auto& package : packages_) range_uj = std::min(range_uj, package.range_uj);
    return std::chrono::milliseconds(std::max(kShortestMs, range_uj / (2 * kMostWatts * kUjPerWattMs)));
}

void ProcessorEnergy::read() {
    if (!readable_) return;
    for (auto& package : packages_) {
        const auto now_uj = find_number(package.counter);
        readable_ = readable_ && now_uj.has_value();
        if (!now_uj) continue;
        const int64_t wrapped_uj = *now_uj < package.last_uj ? package.range_uj : 0;
        total_uj_ += static_cast<double>(*now_uj - package.last_uj + wrapped_uj);
        package.last_uj = *now_uj;
    }
    ++num_readings_;
}

void ProcessorEnergy::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, period(), [&] { return stop.stop_requested(); })) read();
}

}  // namespace pb::device
