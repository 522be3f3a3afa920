// The chunks of a PNG file, walked without decoding: shows truncation before anything is allocated, and finds what
// libpng would report only after the pixels.
#pragma once

#include "image/random_access.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace pb {

struct PngChunks {
    std::vector<std::byte> exif;    // eXIf, wherever it stands
    uint64_t pixel_data_bytes = 0;  // of all IDAT chunks
    bool is_animated = false;
    std::vector<std::string> not_kept;  // what no output gets of it, in words
};

/// Throws UsageError when a chunk reaches past the end of the file or IEND is missing.
[[nodiscard]] PngChunks walk_png_chunks(const RandomAccessFile& file);

}  // namespace pb
