#include "device/telemetry/telemetry.hpp"

#include "base/stopwatch.hpp"
#include "device/host_memory.hpp"
#include "device/telemetry/gauge_sampler.hpp"
#include "device/telemetry/host_counters.hpp"
#include "device/telemetry/nvml.hpp"

#include <algorithm>
#include <cstdlib>

namespace pb::device {
namespace {

/// The driver advances the energy counter about every tenth of a second: passes shorter than this in all would be given
/// an energy that is mostly rounding.
constexpr double kShortestForEnergyS = 1.0;

std::string variable_or(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

/// Growth of a counter over the passes; none once a reading was missing.
class Growth {
  public:
    void begin(const std::optional<double>& reading) { before_ = reading; }
    void end(const std::optional<double>& reading) {
        complete_ = complete_ && before_ && reading;
        if (complete_) total_ += *reading - *before_;
        counted_ = true;
    }
    [[nodiscard]] std::optional<double> total() const {
        return complete_ && counted_ ? std::optional(total_) : std::nullopt;
    }

  private:
    std::optional<double> before_;
    bool complete_ = true;
    bool counted_ = false;
    double total_ = 0;
};

std::optional<double> difference(const std::optional<double>& after, const std::optional<double>& before) {
    return after && before ? std::optional(*after - *before) : std::nullopt;
}

}  // namespace

TelemetryOptions usual_telemetry_options() {
    TelemetryOptions options;
    options.nvml_library = variable_or("PATCHBENCH_NVML", "libnvidia-ml.so.1");
    options.powercap_folder = variable_or("PATCHBENCH_POWERCAP", "/sys/class/powercap");
    options.proc_folder = variable_or("PATCHBENCH_PROC", "/proc");
    options.cpu_folder = "/sys/devices/system/cpu";
    return options;
}

struct Telemetry::Impl {
    explicit Impl(const TelemetryOptions& opened) : options(opened) {
        if (!options.device_uuid.empty())
            device = nvml::Device::find(options.nvml_library, options.device_uuid, options.pci_bus_id, why_no_device);
        if (options.first_on_node) processors = std::make_unique<ProcessorEnergy>(options.powercap_folder);
    }
    TelemetryOptions options;
    std::unique_ptr<nvml::Device> device;         // null: none, or `why_no_device`
    std::unique_ptr<ProcessorEnergy> processors;  // null: another rank's task
    std::string why_no_device;
};

Telemetry::Telemetry(const TelemetryOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Telemetry::~Telemetry() = default;
const std::string& Telemetry::why_no_device() const { return impl_->why_no_device; }

struct TelemetryWindow::Impl {
    explicit Impl(Telemetry::Impl& opened) : sources(opened), own_cpu_before_s(process_cpu_seconds()) {
        if (sources.options.first_on_node) load_before = read_load();
        if (sources.options.device_uuid.empty()) sampler.emplace(process.emplace(sources.options.num_cores));
        if (sources.device == nullptr) return;
        thermal_before = sources.device->policy_s(nvml::kFieldThermalPolicy);
        power_before = sources.device->policy_s(nvml::kFieldPowerPolicy);
        others_before = sources.device->other_processes();
        sampler.emplace(*sources.device);
    }

    [[nodiscard]] std::optional<double> device_energy() const {
        return sources.device && !sources.options.shares_device ? sources.device->energy_j() : std::nullopt;
    }
    [[nodiscard]] std::optional<double> processor_energy() const {
        return sources.processors ? sources.processors->joules() : std::nullopt;
    }

    [[nodiscard]] HostLoad read_load() const {
        return read_host_load(sources.options.proc_folder, sources.options.cpu_folder);
    }

    void describe_host(TelemetryRecord& record) const {
        record[Meter::observed_s] = watch.seconds();
        record[Meter::own_cpu_s] = process_cpu_seconds() - own_cpu_before_s;
        if (!load_before) return;
        const HostLoad after = read_load();
        record[Meter::host_cpu_s] = difference(after.cpu_s, load_before->cpu_s);
        record[Meter::steal_s] = difference(after.steal_s, load_before->steal_s);
        record[Meter::cpu_pressure_s] = difference(after.pressure_s, load_before->pressure_s);
        record[Meter::cpu_clock_begin_mhz] = load_before->clock_mhz;
        record[Meter::cpu_clock_end_mhz] = after.clock_mhz;
    }

    void describe_device(TelemetryRecord& record) {
        const auto thermal_after = sources.device->policy_s(nvml::kFieldThermalPolicy);
        const auto power_after = sources.device->policy_s(nvml::kFieldPowerPolicy);
        record[Meter::thermal_s] = difference(thermal_after, thermal_before);
        if (!record[Meter::thermal_s]) record[Meter::thermal_s] = sampler->thermal_s();
        record[Meter::power_cap_s] = difference(power_after, power_before);
        if (!record[Meter::power_cap_s]) record[Meter::power_cap_s] = sampler->power_cap_s();
        record[Meter::hardware_slowdown_s] = sampler->hardware_s();
        // An absent optional is smaller than any number.
        if (const auto others = std::max(others_before, sources.device->other_processes()))
            record[Meter::other_processes] = static_cast<double>(*others);
        if (passes_s >= kShortestForEnergyS) record[Meter::energy_j] = device_growth.total();
    }

    Telemetry::Impl& sources;
    double own_cpu_before_s;
    Stopwatch watch;
    std::optional<HostLoad> load_before;  // of the first rank of a node
    std::optional<double> thermal_before, power_before;
    std::optional<int64_t> others_before;
    Growth device_growth, processor_growth;
    Stopwatch pass_watch;
    double passes_s = 0;
    std::optional<ProcessGauges> process;  // of a CPU rank
    std::optional<GaugeSampler> sampler;   // last: it reads the others
};

TelemetryWindow::TelemetryWindow(Telemetry& telemetry) : impl_(std::make_unique<Impl>(*telemetry.impl_)) {}
TelemetryWindow::~TelemetryWindow() = default;

void TelemetryWindow::pass_begins() {
    impl_->device_growth.begin(impl_->device_energy());
    impl_->processor_growth.begin(impl_->processor_energy());
    impl_->pass_watch = {};
}

void TelemetryWindow::pass_ends() {
    impl_->passes_s += impl_->pass_watch.seconds();
    impl_->device_growth.end(impl_->device_energy());
    impl_->processor_growth.end(impl_->processor_energy());
}

TelemetryRecord TelemetryWindow::finish() {
    TelemetryRecord record;
    record.first_on_node = impl_->sources.options.first_on_node;
    record[Meter::cpu_energy_j] = impl_->processor_growth.total();
    impl_->describe_host(record);
    if (!impl_->sampler) return record;
    impl_->sampler->stop();
    record.samples = impl_->sampler->samples();
    record[Meter::observed_s] = impl_->sampler->observed_s();
    if (impl_->sources.device) impl_->describe_device(record);
    return record;
}

}  // namespace pb::device
