// When a TIFF file must be a BigTIFF, and one whose pixels others will write.
#pragma once

#include "patchbench/base/atomic_file.hpp"
#include "patchbench/image/image_file.hpp"

#include <cstdint>

namespace pb {

/// Offsets of classic TIFF have 32 bits; the margin is for directories and metadata.
[[nodiscard]] constexpr bool needs_big_tiff(uint64_t pixel_bytes, uint64_t metadata_bytes) {
    constexpr uint64_t kLimit = uint64_t{1} << 32U;
    constexpr uint64_t kMargin = uint64_t{64} << 20U;
    return pixel_bytes + metadata_bytes + kMargin > kLimit;
}

inline constexpr int64_t kTiffTile = 256;            // edge in pixels
inline constexpr uint64_t kBigTiffHeaderBytes = 16;  // where the first tile begins

/// A BigTIFF of uncompressed tiles, complete but for their pixels, which are a hole from kBigTiffHeaderBytes on, tile
/// after tile, row by row. `metadata` may be null. Throws Error.
void lay_out_tiff(const ImageInfo& info, const ImageMetadata* metadata, AtomicFile& file);

}  // namespace pb
