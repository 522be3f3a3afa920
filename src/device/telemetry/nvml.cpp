#include "device/telemetry/nvml.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <vector>

namespace pb::device::nvml {
namespace {

constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;

constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kSensorDie = 0;

constexpr int kTypeUnsignedInt = 1;
constexpr int kTypeUnsignedLong = 2;
constexpr int kTypeUnsignedLongLong = 3;

// Bits of nvmlDeviceGetCurrentClocksEventReasons.
constexpr uint64_t kSoftwarePowerCap = 0x04;
constexpr uint64_t kHardwareSlowdown = 0x08;
constexpr uint64_t kSoftwareThermal = 0x20;
constexpr uint64_t kHardwareThermal = 0x40;
constexpr uint64_t kHardwarePowerBrake = 0x80;

/// The first of `names` that the library has: functions were renamed over the years.
template <class Function>
void resolve(void* library, Function& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (function != nullptr) return;
        function = reinterpret_cast<Function>(::dlsym(library, name));
    }
}

Functions resolve_all(void* library) {
    Functions f;
    resolve(library, f.init, {"nvmlInit_v2"});
    resolve(library, f.shutdown, {"nvmlShutdown"});
    resolve(library, f.device_by_uuid, {"nvmlDeviceGetHandleByUUID"});
    resolve(library, f.device_by_pci, {"nvmlDeviceGetHandleByPciBusId_v2"});
    resolve(library, f.parent_of_slice, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"});
    resolve(library, f.energy_mj, {"nvmlDeviceGetTotalEnergyConsumption"});
    resolve(library, f.clock_mhz, {"nvmlDeviceGetClockInfo"});
    resolve(library, f.temperature_c, {"nvmlDeviceGetTemperature"});
    resolve(library, f.power_mw, {"nvmlDeviceGetPowerUsage"});
    resolve(library, f.utilisation, {"nvmlDeviceGetUtilizationRates"});
    resolve(library, f.slow_reasons,
            {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
    resolve(library, f.field_values, {"nvmlDeviceGetFieldValues"});
    resolve(library, f.processes,
            {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
    return f;
}

/// What `function` writes into its last argument; none when the driver lacks the function or refuses.
template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
    Value value{};
    if (function == nullptr || function(arguments..., &value) != kSuccess) return std::nullopt;
    return value;
}

template <class Value>
std::optional<double> scaled(const std::optional<Value>& value, double factor) {
    return value ? std::optional(static_cast<double>(*value) * factor) : std::nullopt;
}

std::optional<DeviceHandle> find_handle(const Functions& call, const std::string& uuid, const std::string& bus_id) {
    auto found = ask<DeviceHandle>(call.device_by_uuid, uuid.c_str());
    if (!found && !bus_id.empty()) found = ask<DeviceHandle>(call.device_by_pci, bus_id.c_str());
    return found;
}

}  // namespace

std::unique_ptr<Device> Device::find(const std::string& library, const std::string& uuid, const std::string& pci_bus_id,
                                     std::string& why) {
    std::unique_ptr<Device> device(new Device);
    device->library_.reset(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!device->library_) {
        const char* message = ::dlerror();
        why = message != nullptr ? message : "cannot load " + library;
        return nullptr;
    }
    Functions functions = resolve_all(device->library_.get());
    if (functions.init == nullptr || functions.shutdown == nullptr) {
        why = library + " is no NVML library";
        return nullptr;
    }
    if (const Result result = functions.init(); result != kSuccess) {
        why = fmt::format("NVML does not start (error {})", result);
        return nullptr;
    }
    device->call_ = functions;  // from here on the destructor shuts it down
    const auto handle = find_handle(functions, uuid, pci_bus_id);
    if (!handle) {
        why = "NVML does not know the device " + uuid + " at " + pci_bus_id;
        return nullptr;
    }
    device->device_ = *handle;
    const bool is_slice = uuid.starts_with("MIG-");
    device->board_ = is_slice ? ask<DeviceHandle>(functions.parent_of_slice, *handle).value_or(*handle) : *handle;
    return device;
}

Device::~Device() {
    if (call_.shutdown != nullptr) (void)call_.shutdown();
}

std::optional<double> Device::energy_j() const {
    if (board_ != device_) return std::nullopt;
    return scaled(ask<unsigned long long>(call_.energy_mj, device_), 1e-3);
}

std::optional<double> Device::read(Gauge gauge) {
    switch (gauge) {
        case Gauge::sm_clock_mhz: return scaled(ask<unsigned>(call_.clock_mhz, board_, kClockSm), 1);
        case Gauge::memory_clock_mhz: return scaled(ask<unsigned>(call_.clock_mhz, board_, kClockMemory), 1);
        case Gauge::temperature_c: return scaled(ask<unsigned>(call_.temperature_c, board_, kSensorDie), 1);
        case Gauge::power_w: return scaled(ask<unsigned>(call_.power_mw, board_), 1e-3);
        case Gauge::utilisation_percent: break;
    }
    const auto utilisation = ask<Utilisation>(call_.utilisation, device_);
    return utilisation ? std::optional<double>(utilisation->gpu) : std::nullopt;
}

std::optional<SlowReasons> Device::slow_reasons() {
    const auto bits = ask<unsigned long long>(call_.slow_reasons, board_);
    if (!bits) return std::nullopt;
    return SlowReasons{.power_cap = (*bits & kSoftwarePowerCap) != 0,
                       .thermal = (*bits & (kSoftwareThermal | kHardwareThermal)) != 0,
                       .hardware = (*bits & (kHardwareSlowdown | kHardwareThermal | kHardwarePowerBrake)) != 0};
}

std::optional<double> Device::policy_s(unsigned field) const {
    constexpr double kSecondsPerNanosecond = 1e-9;
    FieldValue answer{};
    answer.field = field;
    if (call_.field_values == nullptr || call_.field_values(board_, 1, &answer) != kSuccess) return std::nullopt;
    if (answer.result != kSuccess) return std::nullopt;
    if (answer.type == kTypeUnsignedInt) return answer.value.u32 * kSecondsPerNanosecond;
    if (answer.type != kTypeUnsignedLong && answer.type != kTypeUnsignedLongLong) return std::nullopt;
    return static_cast<double>(answer.value.u64) * kSecondsPerNanosecond;
}

std::optional<int64_t> Device::other_processes() const {
    if (call_.processes == nullptr) return std::nullopt;
    std::array<Process, 64> listed{};
    auto count = static_cast<unsigned>(listed.size());
    const Result result = call_.processes(device_, &count, listed.data());
    const bool is_cut_short = result == kInsufficientSize;
    if ((result != kSuccess && !is_cut_short) || count == 0) return std::nullopt;
    // With this process in the list or, its id unknown here, as one of those in it: the others are one fewer. A process
    // is listed once for each slice that it uses.
    if (is_cut_short) return count - 1;
    std::vector<unsigned> pids;
    for (const auto& process : std::span(listed).first(std::min<size_t>(count, listed.size())))
        pids.push_back(process.pid);
    std::ranges::sort(pids);
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    return static_cast<int64_t>(pids.size()) - 1;
}

}  // namespace pb::device::nvml
