#include "patchbench/device/device.hpp"

#include "device/cuda/backend.hpp"
#include "device/host_memory.hpp"

namespace pb::device {

std::vector<DeviceInfo> visible_cuda_devices() { return cuda::discover().devices; }

std::string why_no_cuda_device() { return cuda::discover().reason; }

void select_device(DeviceId device) {
    if (device.is_cuda()) cuda::select(device.index);
}

void synchronise_device(DeviceId device) {
    if (device.is_cuda()) cuda::synchronise(device.index);
}

DeviceMemory device_memory(DeviceId device) {
    if (device.is_cuda()) return cuda::memory(device.index);
    const int64_t total = host_memory_bytes();
    return {available_host_memory_bytes().value_or(total), total};
}

std::vector<LibraryVersion> cuda_versions() { return cuda::versions(); }

}  // namespace pb::device
