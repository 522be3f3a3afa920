// When a TIFF file must be a BigTIFF.
#pragma once

#include <cstdint>

namespace pb {

/// Offsets of classic TIFF have 32 bits; the margin is for directories and metadata.
[[nodiscard]] constexpr bool needs_big_tiff(uint64_t pixel_bytes, uint64_t metadata_bytes) {
    constexpr uint64_t kLimit = uint64_t{1} << 32U;
    constexpr uint64_t kMargin = uint64_t{64} << 20U;
    return pixel_bytes + metadata_bytes + kMargin > kLimit;
}

}  // namespace pb
