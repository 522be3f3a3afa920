// A counter-based random generator: each block is a function of (counter, key) alone, so noise, scenes and seeded
// weights are the same whatever the order, the windowing and the number of ranks. It holds no state.
#pragma once

#include <array>
#include <cstdint>

namespace pb {

/// One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four words, each
/// uniform on [0, 2^32).
[[nodiscard]] std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter,
                                             const std::array<uint32_t, 2>& key);

}  // namespace pb
