// Places every block of a memory plan at an offset in one allocation, before anything runs.
#pragma once

#include "patchbench/network/memory_plan.hpp"

namespace pb::network {

inline constexpr int64_t kArenaAlignment = 64;  // bytes: one cache line and the widest vector register

struct Arena {
    std::vector<int64_t> offsets;  // in bytes, one for each block of the plan; multiples of kArenaAlignment
    int64_t bytes = 0;             // of the whole arena
};

/// `pixels` counts those of all windows of a batch; extents of windows are multiples of the network's alignment. Blocks
/// that are live at the same time never overlap. Greedy (Pisarchyk & Lee 2020): each block goes into the smallest gap
/// that holds it between the placed blocks that are live at the same time. Blocks are placed largest first or earliest
/// first, whichever takes less memory.
[[nodiscard]] Arena place_blocks(const MemoryPlan& plan, int64_t pixels);

}  // namespace pb::network
