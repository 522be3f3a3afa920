#include "fake_stream.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>

struct CUstream_st {
    std::deque<fake::Work> queue;
    int patience = 0;    // looks until the first of them is tried
    uint64_t begun = 0;  // ever enqueued
    [[nodiscard]] uint64_t done() const { return begun - queue.size(); }
};

struct CUevent_st {
    cudaStream_t stream = nullptr;
    uint64_t reached_at = 0;  // when so much of the stream's work is done
};

namespace {

constexpr int kDevices = 4;
constexpr int kPoison = 0xA5;
int current_device = 0;

uint64_t number_in(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// Does what it can, one piece a look or fewer.
void look_at(CUstream_st& stream) {
    if (stream.queue.empty() || --stream.patience > 0) return;
    if (!stream.queue.front()()) return;
    stream.queue.pop_front();
    stream.patience = fake::random_patience();
}

cudaError_t allocate(void** pointer, size_t bytes) {
    *pointer = std::malloc(bytes);
    if (*pointer == nullptr) return cudaErrorMemoryAllocation;
    std::memset(*pointer, kPoison, bytes);
    return cudaSuccess;
}

bool is_reached(const CUevent_st& event) {
    if (event.stream == nullptr) return true;
    look_at(*event.stream);
    return event.stream->done() >= event.reached_at;
}

}  // namespace

namespace fake {

int random_patience() {
    static std::mt19937_64 numbers(1000 * number_in("FAKE_NCCL_SEED") + number_in("OMPI_COMM_WORLD_RANK"));
    return static_cast<int>(numbers() % 4);
}

void enqueue(cudaStream_t stream, Work work) {
    stream->queue.push_back(std::move(work));
    ++stream->begun;
}

}  // namespace fake

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
    *count = kDevices;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = {};
    (void)std::snprintf(properties->name, sizeof properties->name, "a fake device, number %d", device);
    properties->uuid.bytes[0] = static_cast<char>(device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
    (void)std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes); }

cudaError_t cudaFree(void* pointer) {
    std::free(pointer);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    fake::enqueue(stream, [=] {
        std::memcpy(to, from, bytes);
        return true;
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = std::make_unique<CUstream_st>().release();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const std::unique_ptr<CUstream_st> owned(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    look_at(*stream);
    return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    while (cudaStreamQuery(stream) == cudaErrorNotReady) usleep(20);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = std::make_unique<CUevent_st>().release();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const std::unique_ptr<CUevent_st> owned(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    *event = {stream, stream->begun};
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return is_reached(*event) ? cudaSuccess : cudaErrorNotReady; }

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    while (!is_reached(*event)) usleep(20);
    return cudaSuccess;
}

}  // extern "C"
