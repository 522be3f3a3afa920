#include "image/image.hpp"

#include "base/sample_value.hpp"

#include "patchbench/base/error.hpp"

#include <cstring>

namespace pb::image {
namespace {

void check_pair(const PixelView& from, const MutablePixelView& to) {
    require(from.extent == to.extent && from.channels == to.channels, "images to convert differ in extent or channels");
}

template <class Sample>
void row_to_float(const std::byte* from, float* to, int64_t count) {
    const auto* samples = reinterpret_cast<const Sample*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = to_unit(samples[i]);
}

template <class Sample>
void row_from_float(const float* from, std::byte* to, int64_t count) {
    auto* samples = reinterpret_cast<Sample*>(to);
    for (int64_t i = 0; i < count; ++i) {
        const float value = from[i];
        samples[i] = from_unit<Sample>(value);
    }
}

}  // namespace

void copy_bands(const PixelView& from, int64_t first, int64_t count, MutablePixelView to, int64_t to_first) {
    require(from.extent == to.extent && from.dtype == to.dtype && first >= 0 && first + count <= from.channels &&
                to_first >= 0 && to_first + count <= to.channels,
            "bands to copy do not lie in both images");
    const size_t bytes = static_cast<size_t>(count) * size_of(from.dtype);
    for (int64_t y = 0; y < from.extent.h; ++y) {
        const std::byte* in = from.row(y) + static_cast<size_t>(first) * size_of(from.dtype);
        std::byte* out = to.row(y) + static_cast<size_t>(to_first) * size_of(to.dtype);
        if (from.channels == count && to.channels == count) {
            std::memcpy(out, in, bytes * static_cast<size_t>(from.extent.w));
            continue;
        }
        for (int64_t x = 0; x < from.extent.w; ++x, in += from.pixel_bytes(), out += to.pixel_bytes())
            std::memcpy(out, in, bytes);
    }
}

void to_float(const PixelView& from, MutablePixelView to) {
    check_pair(from, to);
    require(to.dtype == DType::f32, "to_float writes f32");
    const int64_t count = from.extent.w * from.channels;
    for (int64_t y = 0; y < from.extent.h; ++y) {
        auto* out = reinterpret_cast<float*>(to.row(y));
        switch (from.dtype) {
            case DType::u8:
                row_to_float<uint8_t>(from.row(y), out, count);
                break;
            case DType::u16:
                row_to_float<uint16_t>(from.row(y), out, count);
                break;
            case DType::f32:
                std::memcpy(out, from.row(y), static_cast<size_t>(count) * sizeof(float));
                break;
            default:
                throw Error("images hold u8, u16 or f32 samples");
        }
    }
}

void from_float(const PixelView& from, MutablePixelView to) {
    check_pair(from, to);
    require(from.dtype == DType::f32, "from_float reads f32");
    const int64_t count = from.extent.w * from.channels;
    for (int64_t y = 0; y < from.extent.h; ++y) {
        const auto* values = reinterpret_cast<const float*>(from.row(y));
        switch (to.dtype) {
            case DType::u8:
                row_from_float<uint8_t>(values, to.row(y), count);
                break;
            case DType::u16:
                row_from_float<uint16_t>(values, to.row(y), count);
                break;
            case DType::f32:
                std::memcpy(to.row(y), values, static_cast<size_t>(count) * sizeof(float));
                break;
            default:
                throw Error("images hold u8, u16 or f32 samples");
        }
    }
}

}  // namespace pb::image
