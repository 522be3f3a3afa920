// The header of NumPy's .npy format (numpy/lib/format.py), as it is written.
#pragma once

#include "image/image.hpp"

#include <string>

namespace pb::image {

/// Makes a version 1 header, padded like that of numpy.save so that samples begin at a multiple of 64 bytes. The shape
/// of one channel is (H,W), or (H,W,1) where `info` has a channel axis.
[[nodiscard]] std::string npy_header(const ImageInfo& info);

}  // namespace pb::image
