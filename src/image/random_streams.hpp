// The assignment of random numbers to positions in an infinite image.
#pragma once

#include "base/counter_random.hpp"

#include <array>
#include <cstdint>

namespace pb::image {

enum class RandomStream : uint32_t { noise = 0, shading = 1, leaves = 2 };

/// Returns the random block of a position: its two coordinates (below 2^32 in magnitude, beyond which they wrap), a
/// stream and an index in the stream.
inline std::array<uint32_t, 4> random_block(uint64_t seed, RandomStream stream, int64_t row, int64_t column,
                                            uint32_t index) {
    constexpr uint32_t kStreamShift = 24;
    return philox({static_cast<uint32_t>(column), static_cast<uint32_t>(row),
                   static_cast<uint32_t>(stream) << kStreamShift | index, 0},
                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U)});
}

}  // namespace pb::image
