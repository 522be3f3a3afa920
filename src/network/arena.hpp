// One allocation for all that a forward call needs: every block of a memory plan at an offset, known before anything
// runs.
#pragma once

#include "patchbench/network/memory_plan.hpp"

namespace pb {

inline constexpr int64_t kArenaAlignment = 64;  // bytes: a cache line, and the widest vector

struct Arena {
    std::vector<int64_t> offsets;  // bytes, by block of the plan; multiples of kArenaAlignment
    int64_t bytes = 0;             // in all
};

/// `pixels`: of all windows of a batch, whose extents are multiples of the network's alignment. Blocks that live at the
/// same time never overlap. Greedy (Pisarchyk & Lee 2020), each block into the smallest gap that holds it between those
/// that are placed and live while it does; the largest first, or the earliest first, whichever takes less.
[[nodiscard]] Arena place_blocks(const MemoryPlan& plan, int64_t pixels);

}  // namespace pb
