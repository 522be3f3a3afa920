// The functions of the runtime that speak of memory.
#include "machine.hpp"
#include "refuse.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

using pb::fakes::Access;
using pb::fakes::Allocation;
using pb::fakes::machine;
using pb::fakes::Operation;
using pb::fakes::Place;
using pb::fakes::Queue;
using pb::fakes::refuse;

namespace {

cudaError_t allocate(Place place, void** pointer, size_t bytes) {
    const int device = machine().current_device;
    const bool fits = place == Place::pinned ||
                      bytes <= machine().options.device_bytes - machine().allocations.live_bytes(place, device);
    if (!fits) return machine().failed(cudaErrorMemoryAllocation);
    *pointer = machine().allocations.add(place, device, bytes).begin;
    return cudaSuccess;
}

/// A real runtime waits here, or does not: nothing says so.
cudaError_t release(Place place, void* pointer) {
    if (pointer == nullptr) return cudaSuccess;
    if (const Allocation* const memory = machine().allocations.find(pointer))
        for (const bool writers : {true, false})
            if (const std::string user = machine().queues.pending_on(*memory, writers); !user.empty())
                refuse("freed in use: " + memory->name() + ", which " + user + " has still to use");
    machine().allocations.release(pointer, place);
    return cudaSuccess;
}

Access on_device(const Queue& queue, const void* pointer, size_t bytes, bool writes) {
    const Access access = machine().access_to(pointer, bytes, writes, "a copy");
    if (access.allocation->place != Place::device)
        refuse("a copy takes " + access.allocation->name() + " for device memory");
    if (access.allocation->device != queue.device) refuse("wrong device: a copy of " + access.allocation->name());
    return access;
}

bool is_pinned(const void* pointer) { return machine().allocations.find(pointer) != nullptr; }

Access on_host(const void* pointer, size_t bytes, bool writes) {
    const Access access = machine().access_to(pointer, bytes, writes, "a copy");
    if (access.allocation->place != Place::pinned)
        refuse("a copy takes " + access.allocation->name() + " for pinned memory");
    return access;
}

/// Pageable memory is read before the call returns.
void copy_in(Queue& queue, void* to, const void* from, size_t bytes) {
    Operation copy{"copy to the device", {on_device(queue, to, bytes, true)}};
    if (is_pinned(from)) {
        copy.accesses.push_back(on_host(from, bytes, false));
        copy.run = [=] { std::memcpy(to, from, bytes); };
    } else {
        const auto* const first = static_cast<const std::byte*>(from);
        copy.run = [to, staged = std::vector<std::byte>(first, first + bytes)] {
            std::memcpy(to, staged.data(), staged.size());
        };
    }
    machine().queues.enqueue(queue, std::move(copy));
}

/// Pageable memory is written before the call returns.
void copy_out(Queue& queue, void* to, const void* from, size_t bytes) {
    Operation copy{"copy to the host", {on_device(queue, from, bytes, false)}, [=] { std::memcpy(to, from, bytes); }};
    if (is_pinned(to)) copy.accesses.push_back(on_host(to, bytes, true));
    machine().queues.enqueue(queue, std::move(copy));
    if (!is_pinned(to)) machine().queues.run_all(queue);
}

void copy_within(Queue& queue, void* to, const void* from, size_t bytes) {
    machine().queues.enqueue(queue, {"copy on the device",
                                     {on_device(queue, from, bytes, false), on_device(queue, to, bytes, true)},
                                     [=] { std::memcpy(to, from, bytes); }});
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(Place::device, pointer, bytes); }
cudaError_t cudaFree(void* pointer) { return release(Place::device, pointer); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate(Place::pinned, pointer, bytes); }
cudaError_t cudaFreeHost(void* pointer) { return release(Place::pinned, pointer); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    Queue& queue = machine().queue_of(stream, "cudaMemcpyAsync");
    if (kind == cudaMemcpyHostToDevice)
        copy_in(queue, to, from, bytes);
    else if (kind == cudaMemcpyDeviceToHost)
        copy_out(queue, to, from, bytes);
    else if (kind == cudaMemcpyDeviceToDevice)
        copy_within(queue, to, from, bytes);
    else
        refuse("a copy of a kind that the program does not use");
    return cudaSuccess;
}
