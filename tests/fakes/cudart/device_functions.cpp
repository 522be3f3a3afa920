// The functions of the runtime that speak of devices and errors.
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

using pb::fakes::machine;

namespace {
bool is_device(int index) { return index >= 0 && index < machine().options.num_devices; }
}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
    *count = machine().options.num_devices;
    return *count > 0 ? cudaSuccess : machine().failed(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
    *device = machine().current_device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (!is_device(device)) return machine().failed(cudaErrorInvalidDevice);
    machine().current_device = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    machine().queues.run_all_of_device(machine().current_device);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (!is_device(device)) return machine().failed(cudaErrorInvalidDevice);
    *properties = {};
    const std::string name = "fake device " + std::to_string(device);
    std::ranges::copy(name, properties->name);
    properties->uuid.bytes[0] = static_cast<char>(device);
    properties->totalGlobalMem = machine().options.device_bytes;
    properties->major = 9;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
    if (!is_device(device)) return machine().failed(cudaErrorInvalidDevice);
    (void)std::snprintf(id, static_cast<size_t>(size), "0000:%02X:00.0", static_cast<unsigned>(device));
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = machine().options.device_bytes;
    *free = *total - machine().allocations.live_bytes(pb::fakes::Place::device, machine().current_device);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(machine().last_error, cudaSuccess); }

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        case cudaErrorNoDevice: return "cudaErrorNoDevice";
        default: return "an error that the fake runtime has no name for";
    }
}

const char* cudaGetErrorString(cudaError_t) { return "as the fake runtime says"; }
