#include "device/cuda_backend.hpp"
#include "device/cuda_check.hpp"

#include <cuda_runtime_api.h>

namespace pb::device::cuda {
namespace {
cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }
}  // namespace

void destroy_stream(void* stream) noexcept { (void)cudaStreamDestroy(as_stream(stream)); }
void destroy_event(void* event) noexcept { (void)cudaEventDestroy(as_event(event)); }

StreamHandle make_stream(int index) {
    const DeviceScope scope(index);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return StreamHandle(stream);
}

EventHandle make_event(int index) {
    const DeviceScope scope(index);
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    return EventHandle(event);
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

void copy_to_device(void* device, const void* host, size_t bytes, void* stream) {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, as_stream(stream)));
}

void copy_to_host(void* host, const void* device, size_t bytes, void* stream) {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, as_stream(stream)));
}

void copy_on_device(void* to, const void* from, size_t bytes, void* stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, as_stream(stream)));
}

}  // namespace pb::device::cuda
