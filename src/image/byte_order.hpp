// Samples of the other byte order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace pb {

/// Reverses the bytes of every sample.
inline void swap_sample_bytes(std::span<std::byte> samples, size_t sample_bytes) {
    if (sample_bytes == 1) return;
    for (size_t i = 0; i + sample_bytes <= samples.size(); i += sample_bytes)
        std::reverse(samples.begin() + static_cast<std::ptrdiff_t>(i),
                     samples.begin() + static_cast<std::ptrdiff_t>(i + sample_bytes));
}

}  // namespace pb
