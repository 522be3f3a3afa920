#include "device/telemetry/telemetry.hpp"

#include "device/host_memory.hpp"

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

Telemetry::Telemetry(const TelemetryOptions& options) : options_(options) {
    if (!options_.device_uuid.empty())
        device_ = nvml::Device::find(options_.nvml_library, options_.device_uuid, options_.pci_bus_id, why_no_device_);
    if (options_.first_on_node) processors_ = std::make_unique<ProcessorEnergy>(options_.powercap_folder);
}

void CounterGrowth::end(const std::optional<double>& reading) {
    complete_ = complete_ && before_ && reading;
    if (complete_) total_ += *reading - *before_;
    counted_ = true;
}

TelemetryWindow::TelemetryWindow(Telemetry& telemetry) : sources_(telemetry), own_cpu_before_s_(process_cpu_seconds()) {
    if (sources_.options_.first_on_node) load_before_ = read_load();
    if (sources_.options_.device_uuid.empty()) sampler_.emplace(process_.emplace(sources_.options_.num_cores));
    if (sources_.device_ == nullptr) return;
    thermal_before_ = sources_.device_->policy_s(nvml::kFieldThermalPolicy);
    power_before_ = sources_.device_->policy_s(nvml::kFieldPowerPolicy);
    others_before_ = sources_.device_->other_processes();
    sampler_.emplace(*sources_.device_);
}

void TelemetryWindow::pass_begins() {
    device_growth_.begin(device_energy());
    processor_growth_.begin(processor_energy());
    pass_watch_ = {};
}

void TelemetryWindow::pass_ends() {
    passes_s_ += pass_watch_.seconds();
    device_growth_.end(device_energy());
    processor_growth_.end(processor_energy());
}

TelemetryRecord TelemetryWindow::finish() {
    TelemetryRecord record;
    record.first_on_node = sources_.options_.first_on_node;
    record[Meter::cpu_energy_j] = processor_growth_.total();
    describe_host(record);
    if (!sampler_) return record;
    sampler_->stop();
    record.samples = sampler_->samples();
    record[Meter::observed_s] = sampler_->observed_s();
    if (sources_.device_) describe_device(record);
    return record;
}

std::optional<double> TelemetryWindow::device_energy() const {
    return sources_.device_ && !sources_.options_.shares_device ? sources_.device_->energy_j() : std::nullopt;
}

std::optional<double> TelemetryWindow::processor_energy() const {
    return sources_.processors_ ? sources_.processors_->joules() : std::nullopt;
}

HostLoad TelemetryWindow::read_load() const {
    return read_host_load(sources_.options_.proc_folder, sources_.options_.cpu_folder);
}

void TelemetryWindow::describe_host(TelemetryRecord& record) const {
    record[Meter::observed_s] = watch_.seconds();
    record[Meter::own_cpu_s] = process_cpu_seconds() - own_cpu_before_s_;
    if (!load_before_) return;
    const HostLoad after = read_load();
    record[Meter::host_cpu_s] = difference(after.cpu_s, load_before_->cpu_s);
    record[Meter::steal_s] = difference(after.steal_s, load_before_->steal_s);
    record[Meter::cpu_pressure_s] = difference(after.pressure_s, load_before_->pressure_s);
    record[Meter::cpu_clock_begin_mhz] = load_before_->clock_mhz;
    record[Meter::cpu_clock_end_mhz] = after.clock_mhz;
}

void TelemetryWindow::describe_device(TelemetryRecord& record) {
    const auto thermal_after = sources_.device_->policy_s(nvml::kFieldThermalPolicy);
    const auto power_after = sources_.device_->policy_s(nvml::kFieldPowerPolicy);
    record[Meter::thermal_s] = difference(thermal_after, thermal_before_);
    if (!record[Meter::thermal_s]) record[Meter::thermal_s] = sampler_->thermal_s();
    record[Meter::power_cap_s] = difference(power_after, power_before_);
    if (!record[Meter::power_cap_s]) record[Meter::power_cap_s] = sampler_->power_cap_s();
    record[Meter::hardware_slowdown_s] = sampler_->hardware_s();
    // An absent optional is smaller than any number.
    if (const auto others = std::max(others_before_, sources_.device_->other_processes()))
        record[Meter::other_processes] = static_cast<double>(*others);
    if (passes_s_ >= kShortestForEnergyS) record[Meter::energy_j] = device_growth_.total();
}

}  // namespace pb::device
