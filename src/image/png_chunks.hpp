// Reads the list of chunks of a PNG file without decoding it. This detects a truncated file before memory is allocated,
// and finds metadata that libpng would report only after the pixels.
#pragma once

#include "image/random_access.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace pb::image {

struct PngChunks {
    std::vector<std::byte> exif;    // the chunk eXIf, wherever it is in the file
    uint64_t pixel_data_bytes = 0;  // sum of all IDAT chunks
    bool is_animated = false;
    std::vector<std::string> not_kept;  // descriptions of metadata that no output keeps
};

/// Throws UsageError when a chunk reaches past the end of the file or IEND is missing.
[[nodiscard]] PngChunks walk_png_chunks(const RandomAccessFile& file);

}  // namespace pb::image
