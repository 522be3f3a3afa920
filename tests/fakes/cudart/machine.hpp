// The one machine that the functions of the runtime speak of.
#pragma once

#include "allocations.hpp"
#include "fake_cuda.hpp"
#include "queues.hpp"

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pb::fakes {

struct Machine {
    explicit Machine(const FakeCudaOptions& chosen) : options(chosen), queues(chosen.seed) {}

    FakeCudaOptions options;
    Allocations allocations;
    Queues queues;
    std::deque<EventState> events;
    int current_device = 0;
    cudaError_t last_error = cudaSuccess;

    /// Of a handle; refuses what is none, or destroyed.
    [[nodiscard]] Queue& queue_of(cudaStream_t stream, const std::string& use);
    [[nodiscard]] EventState& event_of(cudaEvent_t event, const std::string& use);
    /// Refuses memory that is not there whole, or freed.
    [[nodiscard]] Access access_to(const void* begin, size_t bytes, bool writes, const std::string& use);
    /// Keeps a code for cudaGetLastError.
    cudaError_t failed(cudaError_t code) { return last_error = code; }
    /// Refuses where anything is left.
    void check_empty() const;
};

[[nodiscard]] Machine& machine();

/// What launch_kernel.cuh enqueues: its pointers, each with whether it is written through (as far as the memory goes).
using KernelPointers = std::vector<std::pair<const void*, bool>>;
void enqueue_kernel(cudaStream_t stream, unsigned blocks, unsigned threads, const KernelPointers& pointers,
                    std::function<void()> run);

}  // namespace pb::fakes
