// When a TIFF file must be a BigTIFF, and one whose pixels others will write.
#pragma once

#include "base/atomic_file.hpp"
#include "image/image_file.hpp"
#include "image/placed_image.hpp"
#include "image/random_access.hpp"

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

/// What a TIFF says beside its pixels.
struct TiffContent {
    ImageInfo info;
    const ImageMetadata* metadata = nullptr;
    Compression compression = Compression::none;
};

/// The file of lay_out_tiff, with its pixels, once more with compressed tiles, one after the other: one tile is in
/// memory. Differences of neighbours are compressed (predictor). Every tile is read back and compared. Throws Error.
void compress_tiff(const RandomAccessFile& placed, const TiffContent& content, AtomicFile& file);

}  // namespace pb
