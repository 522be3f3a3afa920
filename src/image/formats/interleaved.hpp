// Conversion between the rows of a file, in which colour channels and alpha are interleaved, and images, which store
// alpha separately.
#pragma once

#include "image/formats/random_access.hpp"
#include "image/image_file.hpp"

#include <cstdint>
#include <vector>

namespace pb::image {

[[nodiscard]] inline bool has_alpha(const ImageToSave& image) { return image.alpha.extent.pixels() > 0; }

[[nodiscard]] inline ImageInfo info_of(const ImageToSave& image) {
    const PixelView& pixels = image.pixels;
    return {pixels.extent, pixels.channels, pixels.dtype, has_alpha(image), image.has_channel_axis};
}

/// Makes interleaved rows from an image to be saved and its alpha.
class InterleavingRows {
  public:
    explicit InterleavingRows(const ImageToSave& image);
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] size_t row_bytes() const { return row_.size(); }
    /// Returns row y. The pointer is valid until the next call.
    [[nodiscard]] const std::byte* row(int64_t y);

  private:
    const ImageToSave& image_;
    int64_t channels_;
    std::vector<std::byte> row_;
};

/// Throws UsageError when `pixels` (floats), the channels from `first` on of `part` of the file's image, contain NaN or
/// infinity. The message names row, column and channel of the first one.
void refuse_not_finite(const RandomAccessFile& file, const Rect& part, int64_t first, const MutablePixelView& pixels);

}  // namespace pb::image
