// What the kernel (Linux) counts of this host: CPU time, steal time, waiting for cores, clocks, and the energy of its
// processors. Whatever cannot be read is absent.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pb::device {

struct HostLoad {
    std::optional<double> cpu_s;       // everything that ran, all cores
    std::optional<double> steal_s;     // that the hypervisor gave to others, all cores
    std::optional<double> pressure_s;  // in which something that could run waited
    std::optional<double> clock_mhz;   // mean of the first processors that this process may run on, now
};

/// What was counted so far: the difference of two readings says what went on between them. `proc` is as /proc, `cpus`
/// as /sys/devices/system/cpu.
[[nodiscard]] HostLoad read_host_load(const std::filesystem::path& proc, const std::filesystem::path& cpus);

/// Energy of this host's processors, where the kernel counts it (Linux powercap, intel-rapl; AMD processors too). On
/// most systems only root may read the counters. They wrap within minutes, so a thread reads them in between.
class ProcessorEnergy {
  public:
    /// Opens the zones `intel-rapl:<n>` of `folder` that are called package-<n>. Psys and parts of a package are left
    /// out: they would be counted twice.
    explicit ProcessorEnergy(const std::filesystem::path& folder);

    /// Joules since construction, of all packages together; none when there is no package or one cannot be read.
    [[nodiscard]] std::optional<double> joules();

    /// How often the counters were read, by joules() or the thread.
    [[nodiscard]] int64_t num_readings() const { return num_readings_; }

  private:
    struct Package {
        std::filesystem::path counter;
        int64_t range_uj = 0;
        int64_t last_uj = 0;
    };
    [[nodiscard]] std::chrono::milliseconds period() const;
    void read();
    void run(const std::stop_token& stop);

    std::vector<Package> packages_;
    bool readable_ = true;
    double total_uj_ = 0;
    std::atomic<int64_t> num_readings_ = 0;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // last: it uses all others
};

}  // namespace pb::device
