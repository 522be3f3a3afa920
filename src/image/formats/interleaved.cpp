#include "image/formats/interleaved.hpp"

#include "image/sample_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::image {

InterleavingRows::InterleavingRows(const ImageToSave& image)
    : image_(image),
      channels_(info_of(image).stored_channels()),
      row_(static_cast<size_t>(image.pixels.extent.w * channels_) * size_of(image.pixels.dtype)) {}

const std::byte* InterleavingRows::row(int64_t y) {
    if (!has_alpha(image_)) return image_.pixels.row(y);
    const int64_t colours = image_.pixels.channels;
    const Rect place{y, 0, {1, image_.pixels.extent.w}};
    const MutablePixelView row = dense_view(row_.data(), place.extent, channels_, image_.pixels.dtype);
    copy_bands(image_.pixels.part(place), 0, colours, row, 0);
    copy_bands(image_.alpha.part(place), 0, 1, row, colours);
    return row_.data();
}

void refuse_not_finite(const RandomAccessFile& file, const Rect& part, int64_t first, const MutablePixelView& pixels) {
    if (!is_float(pixels.dtype)) return;
    const auto is_odd = [](auto sample) { return !std::isfinite(value_of(sample)); };
    with_sample_type(pixels.dtype, [&](auto type) {
        for (int64_t y = 0; y < pixels.extent.h; ++y) {
            const auto* row = reinterpret_cast<const decltype(type)*>(pixels.row(y));
            const int64_t count = pixels.extent.w * pixels.channels;
            const int64_t i = std::find_if(row, row + count, is_odd) - row;
            if (i == count) continue;
            file.refuse(
                fmt::format("{} at row {}, column {}, channel {}", std::isnan(value_of(row[i])) ? "NaN" : "infinity",
                            part.row + y, part.column + i / pixels.channels, first + i % pixels.channels),
                "replace such samples by numbers first, or keep them as they are: --range LO:HI, in a study "
                "image.range");
        }
    });
}

}  // namespace pb::image
