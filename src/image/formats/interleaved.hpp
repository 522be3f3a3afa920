// Conversion between the rows of a file, in which colour channels and alpha are interleaved, and images, which store
// alpha separately.
#pragma once

#include "image/formats/random_access.hpp"
#include "image/image_file.hpp"

#include <cstdint>
#include <vector>

namespace pb::image {

/// A decoded image whose alpha is still interleaved with the colour channels. Decoders that can only decode whole files
/// return it.
struct InterleavedImage {
    ImageInfo info;
    std::vector<std::byte> samples;
    [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(info.extent.w) * info.stored_pixel_bytes(); }
    [[nodiscard]] PixelView view() const {
        return dense_view(samples.data(), info.extent, info.stored_channels(), info.dtype);
    }
};

[[nodiscard]] inline bool has_alpha(const ImageToSave& image) { return image.alpha.extent.pixels() > 0; }

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

/// Throws UsageError when `pixels` (floats), read from `part` of the file's image, contain NaN or infinity. The message
/// names row, column and channel of the first one.
void refuse_not_finite(const RandomAccessFile& file, const Rect& part, const MutablePixelView& pixels);

}  // namespace pb::image
