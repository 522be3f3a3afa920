// Devices of this host: which there are, what they are called, how full their memory is.
#pragma once

#include "patchbench/base/device_id.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::device {

struct DeviceInfo {
    DeviceId id;
    std::string name;
    std::string uuid;          // "GPU-..." or "MIG-..."; empty on the CPU
    std::string pci_bus_id;    // "0000:3b:00.0"; empty on the CPU
    int64_t memory_bytes = 0;  // of the device; of the host on the CPU
    std::string capability;    // "9.0" on CUDA; instruction set on the CPU, e.g. "AVX2"
    friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// The CUDA devices that this process may see (CUDA_VISIBLE_DEVICES applied), in ordinal order; empty without a driver
/// or in a build without CUDA.
[[nodiscard]] std::vector<DeviceInfo> visible_cuda_devices();

/// Why `visible_cuda_devices()` is empty, in words ("no NVIDIA driver", ...); empty when it is not.
[[nodiscard]] std::string why_no_cuda_device();

/// The processor of this host.
[[nodiscard]] DeviceInfo cpu_device();

/// Makes `device` the current one of this thread; on the CPU nothing.
void select_device(DeviceId device);

/// Waits until everything submitted to `device` is done; on the CPU nothing.
void synchronise_device(DeviceId device);

struct DeviceMemory {
    int64_t free_bytes = 0;
    int64_t total_bytes = 0;
};

/// Of the whole device, other processes and library contexts included (cudaMemGetInfo); of the host (MemAvailable) on
/// the CPU, where 0 in all stands for what the kernel does not tell.
[[nodiscard]] DeviceMemory device_memory(DeviceId device);

/// Versions of the CUDA stack, header and loaded, for the environment record: pairs like {"cuda_runtime", "13.0"}.
struct LibraryVersion {
    std::string library;
    std::string header;  // what it was compiled against
    std::string loaded;  // what it runs with; empty when unknown
};
[[nodiscard]] std::vector<LibraryVersion> cuda_versions();

}  // namespace pb::device
