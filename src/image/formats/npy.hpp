// The header of NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py): a Python dictionary as text.
#pragma once

#include "image/formats/random_access.hpp"
#include "image/image.hpp"

#include <cstdint>
#include <string>

namespace pb::image {

struct NpyHeader {
    // (H,W) and (H,W,1) are gray, (H,W,2) gray and alpha, (H,W,3) RGB, (H,W,4) RGB and alpha; more channels are bands.
    ImageInfo info;
    bool big_endian = false;
    uint64_t samples_begin = 0;  // byte offset of the first sample
};

/// Reads the header. Throws UsageError when type, shape or order are not those of an image, or the length of the file
/// does not fit the header.
[[nodiscard]] NpyHeader read_npy_header(const RandomAccessFile& file);

/// Makes a version 1 header, padded like that of numpy.save so that samples begin at a multiple of 64 bytes. The shape
/// of one channel is (H,W), or (H,W,1) where `info` has a channel axis.
[[nodiscard]] std::string npy_header(const ImageInfo& info);

}  // namespace pb::image
