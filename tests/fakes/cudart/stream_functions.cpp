// The functions of the runtime that speak of streams, events and kernels.
#include "machine.hpp"
#include "refuse.hpp"

using pb::fakes::EventState;
using pb::fakes::machine;
using pb::fakes::Queue;
using pb::fakes::refuse;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = reinterpret_cast<cudaStream_t>(&machine().queues.add(machine().current_device));
    return cudaSuccess;
}

/// As on a device, what is in flight still runs.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    machine().queue_of(stream, "cudaStreamDestroy").is_live = false;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    machine().queues.run_all(machine().queue_of(stream, "cudaStreamSynchronize"));
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    Queue& queue = machine().queue_of(stream, "cudaStreamWaitEvent");
    const auto record = machine().event_of(event, "cudaStreamWaitEvent").latest;
    if (record != nullptr) machine().queues.enqueue(queue, {"wait for an event", {}, {}, record});
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    EventState& made = machine().events.emplace_back();
    made.device = machine().current_device;
    made.number = static_cast<int>(machine().events.size());
    *event = reinterpret_cast<cudaEvent_t>(&made);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    machine().event_of(event, "cudaEventDestroy").is_live = false;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    Queue& queue = machine().queue_of(stream, "cudaEventRecord");
    EventState& state = machine().event_of(event, "cudaEventRecord");
    if (state.device != queue.device) refuse("wrong device: an event is recorded on a stream of another device");
    state.latest = std::make_shared<pb::fakes::Record>();
    state.latest->queue = &queue;
    const auto reach = [record = state.latest] {
        record->is_reached = true;
        record->time = std::chrono::steady_clock::now();
    };
    machine().queues.enqueue(queue, {"record of an event", {}, reach});
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const auto record = machine().event_of(event, "cudaEventSynchronize").latest;
    if (record != nullptr) machine().queues.run_until(record);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    const auto from = machine().event_of(start, "cudaEventElapsedTime").latest;
    const auto to = machine().event_of(end, "cudaEventElapsedTime").latest;
    if (from == nullptr || to == nullptr) return machine().failed(cudaErrorInvalidResourceHandle);
    if (!from->is_reached || !to->is_reached) return machine().failed(cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}

void pb::fakes::enqueue_kernel(cudaStream_t stream, unsigned blocks, unsigned threads, const KernelPointers& pointers,
                               std::function<void()> run) {
    constexpr unsigned kMostThreads = 1024;
    Queue& queue = machine().queue_of(stream, "launch of a kernel");
    if (queue.device != machine().current_device) refuse("wrong device: a kernel on a stream of another device");
    if (blocks == 0 || threads == 0 || threads > kMostThreads) {
        (void)machine().failed(cudaErrorInvalidConfiguration);
        return;
    }
    Operation kernel{"a kernel", {}, std::move(run)};
    for (const auto& [pointer, writes] : pointers) {
        Access access = machine().access_to(pointer, 0, writes, "a kernel's use");
        const Allocation& memory = *access.allocation;
        if (memory.place == Place::pinned) refuse("a kernel's use of " + memory.name());
        if (memory.device != queue.device) refuse("wrong device: a kernel's use of " + memory.name());
        access.bytes = static_cast<size_t>(memory.begin + memory.bytes - access.begin);
        kernel.accesses.push_back(access);
    }
    machine().queues.enqueue(queue, std::move(kernel));
}
