// Dense rows of samples: raw, and with the header of NumPy's .npy.
#pragma once

#include "image/image_file.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace pb::image {

/// Opens a file of raw samples: dense rows of interleaved little-endian samples without header or trailer, described by
/// `info`. Throws UsageError in the cases of open_image, and when the length of the file does not fit `info`.
[[nodiscard]] std::unique_ptr<ImageFile> open_raw_image(const std::filesystem::path& file, const ImageInfo& info);

/// The header of NumPy's .npy format (numpy/lib/format.py) in version 1, padded like that of numpy.save so that samples
/// begin at a multiple of 64 bytes. The shape of one channel is (H,W), or (H,W,1) where `info` has a channel axis.
[[nodiscard]] std::string npy_header(const ImageInfo& info);

}  // namespace pb::image
