// Peaks of memory plans, with which tests compare what was measured or planned otherwise.
#pragma once

#include "patchbench/network/memory_plan.hpp"
#include "patchbench/network/network_shape.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pb::network {

/// `pixels`: of all windows of a batch.
inline int64_t peak_bytes(const MemoryPlan& plan, int64_t pixels) {
    int64_t peak = 0;
    for (const MemorySize& size : live_sizes(plan)) peak = std::max(peak, size.bytes(pixels));
    return peak;
}

/// What a forward call holds at its peaks, from large windows to small ones.
inline std::vector<MemorySize> network_peaks(const NetworkShape& shape, const MemoryPath& path) {
    return peak_sizes(plan_memory(graph_of(shape), path));
}

}  // namespace pb::network
