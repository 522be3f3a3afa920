#include "image/formats/interleaved.hpp"

#include "image/sample_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pb::image {
namespace {

template <class Sample>
void copy_strided(const InterleavedRow& row, int64_t first, int64_t num_channels, std::byte* to) {
    const auto* from = reinterpret_cast<const Sample*>(row.samples) + first;
    auto* out = reinterpret_cast<Sample*>(to);
    for (int64_t x = 0; x < row.count; ++x)
        for (int64_t c = 0; c < num_channels; ++c) out[x * num_channels + c] = from[x * row.channels + c];
}

template <class Sample>
void interleave(const ImageToSave& image, int64_t y, std::byte* to) {
    const auto* colour = reinterpret_cast<const Sample*>(image.pixels.row(y));
    const auto* alpha = reinterpret_cast<const Sample*>(image.alpha.row(y));
    auto* out = reinterpret_cast<Sample*>(to);
    const int64_t channels = image.pixels.channels;
    for (int64_t x = 0; x < image.pixels.extent.w; ++x) {
        for (int64_t c = 0; c < channels; ++c) *out++ = colour[x * channels + c];
        *out++ = alpha[x];
    }
}

}  // namespace

void copy_channels(const InterleavedRow& row, size_t sample_bytes, int64_t first, int64_t num_channels, std::byte* to) {
    if (num_channels == row.channels)
        std::memcpy(to, row.samples, static_cast<size_t>(row.count * num_channels) * sample_bytes);
    else if (sample_bytes == 1)
        copy_strided<uint8_t>(row, first, num_channels, to);
    else if (sample_bytes == 2)
        copy_strided<uint16_t>(row, first, num_channels, to);
    else if (sample_bytes == 4)
        copy_strided<uint32_t>(row, first, num_channels, to);
    else
        copy_strided<uint64_t>(row, first, num_channels, to);
}

InterleavingRows::InterleavingRows(const ImageToSave& image)
    : image_(image),
      channels_(image.pixels.channels + (has_alpha(image) ? 1 : 0)),
      row_(static_cast<size_t>(image.pixels.extent.w * channels_) * size_of(image.pixels.dtype)) {}

const std::byte* InterleavingRows::row(int64_t y) {
    if (!has_alpha(image_)) return image_.pixels.row(y);
    switch (size_of(image_.pixels.dtype)) {
        case 1:
            interleave<uint8_t>(image_, y, row_.data());
            break;
        case 2:
            interleave<uint16_t>(image_, y, row_.data());
            break;
        case 4:
            interleave<uint32_t>(image_, y, row_.data());
            break;
        default:
            interleave<uint64_t>(image_, y, row_.data());
    }
    return row_.data();
}

void refuse_not_finite(const RandomAccessFile& file, const Rect& part, const MutablePixelView& pixels) {
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
                            part.row + y, part.column + i / pixels.channels, i % pixels.channels),
                "replace such samples by numbers first, or keep them as they are: --range LO:HI, in a study "
                "image.range");
        }
    });
}

}  // namespace pb::image
