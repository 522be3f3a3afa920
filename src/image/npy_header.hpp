// The header of NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py): a Python dictionary in text.
#pragma once

#include "image/image.hpp"
#include "image/random_access.hpp"

#include <cstdint>
#include <string>

namespace pb {

struct NpyHeader {
    // (H,W) and (H,W,1) gray, (H,W,2) gray and alpha, (H,W,3) RGB, (H,W,4) RGB and alpha, beyond that so many bands
    ImageInfo info;
    bool big_endian = false;
    uint64_t samples_begin = 0;  // byte offset of the first sample
};

/// Throws UsageError for types, shapes and orders that are no image, and unless the file's length fits the header.
[[nodiscard]] NpyHeader read_npy_header(const RandomAccessFile& file);

/// A version 1 header, padded so that samples begin at a multiple of 64 bytes, as numpy.save does. One channel: (H,W),
/// or (H,W,1) where `info` has a channel axis.
[[nodiscard]] std::string npy_header(const ImageInfo& info);

}  // namespace pb
