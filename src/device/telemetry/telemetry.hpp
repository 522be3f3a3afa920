// Watches a rank's device (NVML, found at run time; on the CPU this process on its cores), its host's processors (Linux
// powercap) and what else ran on the host (Linux /proc) while a point is timed. It only reads: no clock, limit or mode
// is ever changed. What cannot be read is absent.
#pragma once

#include "base/stopwatch.hpp"
#include "base/telemetry_record.hpp"
#include "device/telemetry/gauge_sampler.hpp"
#include "device/telemetry/host_counters.hpp"
#include "device/telemetry/nvml.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pb::device {

struct TelemetryOptions {
    std::string device_uuid;      // empty: no device to watch (a CPU rank)
    std::string pci_bus_id;       // found by it where the driver does not know the uuid
    int num_cores = 1;            // of a CPU rank: what its utilisation is a share of
    bool shares_device = false;   // its energy cannot be told apart: absent
    bool first_on_node = false;   // reads the processors' energy, once a node
    std::string nvml_library;     // file name for the dynamic linker
    std::string powercap_folder;  // where the kernel shows intel-rapl:*
    std::string proc_folder;      // where it shows stat and pressure/cpu
    std::string cpu_folder;       // and cpu<n>/cpufreq
};

/// The usual places: libnvidia-ml.so.1, /sys/class/powercap and /proc, or what PATCHBENCH_NVML, PATCHBENCH_POWERCAP and
/// PATCHBENCH_PROC name; /sys/devices/system/cpu.
[[nodiscard]] TelemetryOptions usual_telemetry_options();

/// The sources, opened once and kept from point to point. Never throws for a source that is not there.
class Telemetry {
  public:
    explicit Telemetry(const TelemetryOptions& options);
    /// Why there is nothing to read from the device, in words; empty when there is, or when there is no device.
    [[nodiscard]] const std::string& why_no_device() const { return why_no_device_; }

  private:
    friend class TelemetryWindow;
    TelemetryOptions options_;
    std::unique_ptr<nvml::Device> device_;         // null: none, or `why_no_device_`
    std::unique_ptr<ProcessorEnergy> processors_;  // null: another rank's task
    std::string why_no_device_;
};

/// Growth of a counter over the passes; none once a reading was missing.
class CounterGrowth {
  public:
    void begin(const std::optional<double>& reading) { before_ = reading; }
    void end(const std::optional<double>& reading);
    [[nodiscard]] std::optional<double> total() const {
        return complete_ && counted_ ? std::optional(total_) : std::nullopt;
    }

  private:
    std::optional<double> before_;
    bool complete_ = true;
    bool counted_ = false;
    double total_ = 0;
};

/// The timed repetitions of one point. A thread of its own samples the gauges from construction to finish() or
/// destruction; the calling thread reads two energy counters at the ends of each pass, outside of the pass's clock, and
/// allocates nothing there.
class TelemetryWindow {
  public:
    /// `telemetry` must outlive it.
    explicit TelemetryWindow(Telemetry& telemetry);

    /// Around each timed pass. A pass that was begun and not ended (it failed) is not counted.
    void pass_begins();
    void pass_ends();

    /// Ends sampling. Energy of passes that took less than a second in all is absent: the driver's counter advances
    /// about ten times a second.
    [[nodiscard]] TelemetryRecord finish();

  private:
    [[nodiscard]] std::optional<double> device_energy() const;
    [[nodiscard]] std::optional<double> processor_energy() const;
    [[nodiscard]] HostLoad read_load() const;
    void describe_host(TelemetryRecord& record) const;
    void describe_device(TelemetryRecord& record);

    Telemetry& sources_;
    double own_cpu_before_s_;
    Stopwatch watch_;
    std::optional<HostLoad> load_before_;  // of the first rank of a node
    std::optional<double> thermal_before_, power_before_;
    std::optional<int64_t> others_before_;
    CounterGrowth device_growth_, processor_growth_;
    Stopwatch pass_watch_;
    double passes_s_ = 0;
    std::optional<ProcessGauges> process_;  // of a CPU rank
    std::optional<GaugeSampler> sampler_;   // last: it reads the others
};

}  // namespace pb::device
