// Watches a rank's device (NVML, found at run time; on the CPU this process on its cores), its host's processors (Linux
// powercap) and what else ran on the host (Linux /proc) while a point is timed. It only reads: no clock, limit or mode
// is ever changed. What cannot be read is absent.
#pragma once

#include "base/telemetry_record.hpp"

#include <memory>
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
    ~Telemetry();
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;

    /// Why there is nothing to read from the device, in words; empty when there is, or when there is no device.
    [[nodiscard]] const std::string& why_no_device() const;

  private:
    friend class TelemetryWindow;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The timed repetitions of one point. A thread of its own samples the gauges from construction to finish() or
/// destruction; the calling thread reads two energy counters at the ends of each pass, outside of the pass's clock, and
/// allocates nothing there.
class TelemetryWindow {
  public:
    /// `telemetry` must outlive it.
    explicit TelemetryWindow(Telemetry& telemetry);
    ~TelemetryWindow();
    TelemetryWindow(const TelemetryWindow&) = delete;
    TelemetryWindow& operator=(const TelemetryWindow&) = delete;

    /// Around each timed pass. A pass that was begun and not ended (it failed) is not counted.
    void pass_begins();
    void pass_ends();

    /// Ends sampling. Energy of passes that took less than a second in all is absent: the driver's counter advances
    /// about ten times a second.
    [[nodiscard]] TelemetryRecord finish();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::device
