#include "image/image.hpp"

#include "base/sample_value.hpp"
#include "image/sample_types.hpp"

#include "patchbench/base/error.hpp"

#include <cstring>

namespace pb::image {
namespace {

void check_pair(const PixelView& from, const MutablePixelView& to) {
    require(from.extent == to.extent && from.channels == to.channels, "images to convert differ in extent or channels");
}

template <class From, class To, class Convert>
void convert_samples(const PixelView& from, MutablePixelView to, Convert convert) {
    const int64_t count = from.extent.w * from.channels;
    for (int64_t y = 0; y < from.extent.h; ++y) {
        const auto* in = reinterpret_cast<const From*>(from.row(y));
        auto* out = reinterpret_cast<To*>(to.row(y));
        for (int64_t i = 0; i < count; ++i) out[i] = convert(in[i]);
    }
}

struct Samples {
    int64_t of_pixel = 0;
    int64_t pixels = 0;
};

template <class Word>
void copy_pixels(const Word* from, int64_t from_channels, Word* to, int64_t to_channels, Samples count) {
    if (count.of_pixel == 1) {  // planes and alpha
        for (int64_t x = 0; x < count.pixels; ++x) to[x * to_channels] = from[x * from_channels];
        return;
    }
    for (int64_t x = 0; x < count.pixels; ++x, from += from_channels, to += to_channels)
        for (int64_t c = 0; c < count.of_pixel; ++c) to[c] = from[c];
}

/// Calls `use` with a value of the unsigned type of so many bytes, which copies samples of any type.
template <class Use>
void with_word(size_t bytes, Use&& use) {
    if (bytes == 1) return use(uint8_t{});
    if (bytes == 2) return use(uint16_t{});
    if (bytes == 4) return use(uint32_t{});
    use(uint64_t{});
}

}  // namespace

void copy_bands(const PixelView& from, int64_t first, int64_t count, MutablePixelView to, int64_t to_first) {
    const bool lie_in_both = from.extent == to.extent && from.dtype == to.dtype && first >= 0 &&
                             first + count <= from.channels && to_first >= 0 && to_first + count <= to.channels;
    if (!lie_in_both) throw Error("bands to copy do not lie in both images");  // once a row: no text is made before
    if (from.channels == count && to.channels == count) {
        const size_t bytes = static_cast<size_t>(from.extent.w) * from.pixel_bytes();
        for (int64_t y = 0; y < from.extent.h; ++y) std::memcpy(to.row(y), from.row(y), bytes);
        return;
    }
    with_word(size_of(from.dtype), [&](auto word) {
        for (int64_t y = 0; y < from.extent.h; ++y) {
            const auto* in = reinterpret_cast<const decltype(word)*>(from.row(y)) + first;
            auto* out = reinterpret_cast<decltype(word)*>(to.row(y)) + to_first;
            copy_pixels(in, from.channels, out, to.channels, {count, from.extent.w});
        }
    });
}

void to_float(const PixelView& from, MutablePixelView to) {
    check_pair(from, to);
    require(to.dtype == DType::f32, "to_float writes f32");
    with_image_type(from.dtype, [&](auto type) {
        using Sample = decltype(type);
        convert_samples<Sample, float>(from, to, [](Sample sample) { return to_unit(sample); });
    });
}

void from_float(const PixelView& from, MutablePixelView to) {
    check_pair(from, to);
    require(from.dtype == DType::f32, "from_float reads f32");
    with_image_type(to.dtype, [&](auto type) {
        using Sample = decltype(type);
        convert_samples<float, Sample>(from, to, [](float value) { return from_unit<Sample>(value); });
    });
}

}  // namespace pb::image
