#include "device/cuda/backend.hpp"

#include "base/text.hpp"
#include "device/cuda/check.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

namespace pb::device::cuda {
namespace {

/// 13000 -> "13.0".
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Newest CUDA version that the driver serves; 0 without a driver. Works without a device.
int driver_version() {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

std::string why_none(cudaError_t status) {
    const int driver = driver_version();
    if (driver == 0) return "no NVIDIA driver";
    if (status == cudaErrorInsufficientDriver)
        return "the NVIDIA driver serves CUDA " + version_text(driver) + " and this patchbench needs " +
               version_text(CUDART_VERSION) + ": install a newer driver";
    if (status == cudaErrorNoDevice || status == cudaSuccess)
        return "the NVIDIA driver shows no device (see nvidia-smi and CUDA_VISIBLE_DEVICES)";
    return std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status);
}

/// As nvidia-smi -L writes it; a slice of a device (MIG) is known by its name, "... MIG 1g.5gb".
std::string uuid_text(const cudaUUID_t& uuid, bool slice) {
    std::string text = slice ? "MIG-" : "GPU-";
    for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

std::string pci_text(int index) {
    std::array<char, 32> id{};
    check(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), index));
    return lower_case(id.data());
}

DeviceInfo describe(int index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index));
    DeviceInfo info;
    info.id = {DeviceKind::cuda, index};
    info.name = properties.name;
    info.uuid = uuid_text(properties.uuid, info.name.find(" MIG ") != std::string::npos);
    info.pci_bus_id = pci_text(index);
    info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    info.capability = fmt::format("{}.{}", properties.major, properties.minor);
    return info;
}

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

Discovery discover() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    Discovery found;
    if (status != cudaSuccess || count == 0) {
        found.reason = why_none(status);
        return found;
    }
    for (int index = 0; index < count; ++index) found.devices.push_back(describe(index));
    return found;
}

void select(int index) { check(cudaSetDevice(index)); }

void synchronise(int index) {
    const DeviceScope scope(index);
    check(cudaDeviceSynchronize());
}

DeviceMemory memory(int index) {
    const DeviceScope scope(index);
    size_t free = 0;
    size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

std::vector<LibraryVersion> versions() {
    int runtime = 0;
    check(cudaRuntimeGetVersion(&runtime));
    const int driver = driver_version();
    return {{"cuda_runtime", version_text(CUDART_VERSION), version_text(runtime)},
            {"cuda_driver", "", driver == 0 ? "" : version_text(driver)}};
}

void destroy_stream(void* stream) noexcept { (void)cudaStreamDestroy(as_stream(stream)); }
void destroy_event(void* event) noexcept { (void)cudaEventDestroy(as_event(event)); }

void* make_stream(int index) {
    const DeviceScope scope(index);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

void* make_event(int index) {
    const DeviceScope scope(index);
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    return event;
}

void wait(void* stream, void* event) { check(cudaStreamWaitEvent(as_stream(stream), as_event(event), 0)); }

void synchronise_stream(void* stream) { check(cudaStreamSynchronize(as_stream(stream))); }

void record(void* event, void* stream) { check(cudaEventRecord(as_event(event), as_stream(stream))); }

void synchronise_event(void* event) { check(cudaEventSynchronize(as_event(event))); }

double seconds_between(void* start, void* end) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, as_event(start), as_event(end)));
    return static_cast<double>(milliseconds) * 1e-3;
}

std::byte* allocate(Memory memory, int index, size_t bytes) {
    const DeviceScope scope(index);
    void* pointer = nullptr;
    check(memory == Memory::pinned ? cudaHostAlloc(&pointer, bytes, cudaHostAllocDefault)
                                   : cudaMalloc(&pointer, bytes));
    return static_cast<std::byte*>(pointer);
}

void release(Memory memory, std::byte* pointer) noexcept {
    (void)(memory == Memory::pinned ? cudaFreeHost(pointer) : cudaFree(pointer));
}

void copy(void* to, const void* from, size_t bytes, Direction direction, void* stream) {
    constexpr std::array kKinds{cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    check(cudaMemcpyAsync(to, from, bytes, kKinds.at(static_cast<size_t>(direction)), as_stream(stream)));
}

}  // namespace pb::device::cuda
