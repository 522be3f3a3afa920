// NVML, the library of the NVIDIA driver, opened at run time: it is not there without a driver, and older ones lack
// some of its functions. Every question may go unanswered.
#pragma once

#include "base/descriptor.hpp"
#include "device/telemetry/gauge_sampler.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pb::device::nvml {

// The part of the C interface that is used, as published in nvml.h (stable since CUDA 9; the process list since driver
// 510). Numbers are those of the interface.
using Result = int;  // 0: success
using DeviceHandle = void*;
struct Utilisation {
    unsigned gpu, memory;  // percent
};
struct Process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
struct FieldValue {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type;
    Result result;
    union {
        double f64;
        unsigned u32;
        unsigned long long u64;
    } value;
};
inline constexpr unsigned kFieldPowerPolicy = 74;    // cumulative ns below the wanted clocks because of the power limit
inline constexpr unsigned kFieldThermalPolicy = 75;  // because of temperature

struct Functions {
    Result (*init)() = nullptr;
    Result (*shutdown)() = nullptr;
    Result (*device_by_uuid)(const char*, DeviceHandle*) = nullptr;
    Result (*device_by_pci)(const char*, DeviceHandle*) = nullptr;
    Result (*parent_of_slice)(DeviceHandle, DeviceHandle*) = nullptr;
    Result (*energy_mj)(DeviceHandle, unsigned long long*) = nullptr;
    Result (*clock_mhz)(DeviceHandle, int, unsigned*) = nullptr;
    Result (*temperature_c)(DeviceHandle, int, unsigned*) = nullptr;
    Result (*power_mw)(DeviceHandle, unsigned*) = nullptr;
    Result (*utilisation)(DeviceHandle, Utilisation*) = nullptr;
    Result (*slow_reasons)(DeviceHandle, unsigned long long*) = nullptr;
    Result (*field_values)(DeviceHandle, int, FieldValue*) = nullptr;
    Result (*processes)(DeviceHandle, unsigned*, Process*) = nullptr;
};

/// Methods may be called by several threads at a time, as NVML's own.
class Device final : public GaugeSource {
  public:
    /// By uuid, else by bus id. Null, and `why` in words, when the library or the device is not there.
    [[nodiscard]] static std::unique_ptr<Device> find(const std::string& library, const std::string& uuid,
                                                      const std::string& pci_bus_id, std::string& why);
    ~Device() override;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// Since the driver was loaded. Of a slice (MIG) none: the counter is the whole device's.
    [[nodiscard]] std::optional<double> energy_j() const;
    [[nodiscard]] std::optional<double> read(Gauge gauge) override;
    [[nodiscard]] std::optional<SlowReasons> slow_reasons() override;
    /// Cumulative time by a policy counter (kField...).
    [[nodiscard]] std::optional<double> policy_s(unsigned field) const;
    /// Compute processes beside this one. None when the driver's list does not even show this one's context (it is
    /// empty, as in some containers). Where process ids are those of another namespace, one is taken for this one.
    [[nodiscard]] std::optional<int64_t> other_processes() const;

  private:
    Device() = default;
    Handle<void*, ::dlclose> library_;
    Functions call_;
    DeviceHandle device_ = nullptr;  // the slice, where the rank has one
    DeviceHandle board_ = nullptr;   // what has clocks and a temperature
};

}  // namespace pb::device::nvml
