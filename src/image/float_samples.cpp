#include "image/image.hpp"

#include "patchbench/base/error.hpp"

#include <bit>
#include <cstring>

namespace pb {
namespace {

void check_pair(const PixelView& from, const MutablePixelView& to) {
    require(from.extent == to.extent && from.channels == to.channels, "images to convert differ in extent or channels");
}

template <class Sample>
void row_to_float(const std::byte* from, float* to, int64_t count, float scale) {
    const auto* samples = reinterpret_cast<const Sample*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(samples[i]) / scale;
}

/// Adding 1.5 * 2^23 leaves the integer, rounded to nearest even, in the low bits of the mantissa: a rounding that
/// vectorises on every x86-64. NaN becomes 0.
template <class Sample>
void row_from_float(const float* from, std::byte* to, int64_t count, float scale) {
    auto* samples = reinterpret_cast<Sample*>(to);
    constexpr float kRounder = 12582912.0F;
    for (int64_t i = 0; i < count; ++i) {
        const float scaled = from[i] * scale;
        const float above = scaled > 0.0F ? scaled : 0.0F;
        const float clipped = above < scale ? above : scale;
        samples[i] = static_cast<Sample>(std::bit_cast<uint32_t>(clipped + kRounder));
    }
}

}  // namespace

void to_float(const PixelView& from, MutablePixelView to) {
    check_pair(from, to);
    require(to.dtype == DType::f32, "to_float writes f32");
    const int64_t count = from.extent.w * from.channels;
    for (int64_t y = 0; y < from.extent.h; ++y) {
        auto* out = reinterpret_cast<float*>(to.row(y));
        switch (from.dtype) {
            case DType::u8:
                row_to_float<uint8_t>(from.row(y), out, count, 255.0F);
                break;
            case DType::u16:
                row_to_float<uint16_t>(from.row(y), out, count, 65535.0F);
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
                row_from_float<uint8_t>(values, to.row(y), count, 255.0F);
                break;
            case DType::u16:
                row_from_float<uint16_t>(values, to.row(y), count, 65535.0F);
                break;
            case DType::f32:
                std::memcpy(to.row(y), values, static_cast<size_t>(count) * sizeof(float));
                break;
            default:
                throw Error("images hold u8, u16 or f32 samples");
        }
    }
}

}  // namespace pb
