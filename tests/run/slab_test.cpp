// Windows against the definition: a pixel beyond the border is the nearest one of the image.
#include "run/pixels/slab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace pb::run {
namespace {

constexpr Extent kImage{11, 14};

/// Rows [3, 11) and columns [2, 14) of an image, in which every byte is another one than its neighbours.
class SlabOfAnImage : public testing::TestWithParam<DType> {
  protected:
    SlabOfAnImage() : slab_(slab_of({3, 2, {kImage.h - 3, kImage.w - 2}}, kImage, 3, GetParam(), bytes_)) {
        if (GetParam() == DType::f32) {
            std::vector<float> values(bytes_.size() / sizeof(float));
            std::iota(values.begin(), values.end(), 0.5F);
            std::memcpy(bytes_.data(), values.data(), bytes_.size());
        } else {
            for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 37 % 251);
        }
    }

    [[nodiscard]] const std::byte* nearest(const Rect& window, int64_t y, int64_t x) const {
        return slab_.at(std::min(window.row + y, kImage.h - 1), std::min(window.column + x, kImage.w - 1));
    }

    std::vector<std::byte> bytes_;
    Slab slab_;
};

INSTANTIATE_TEST_SUITE_P(Samples, SlabOfAnImage, testing::Values(DType::u8, DType::u16, DType::f32));

/// Inside; beyond the right border, below, in the corner, in the corner by more than it has.
constexpr Rect kWindows[] = {
    {3, 2, {4, 5}}, {4, 10, {3, 8}}, {7, 3, {8, 4}}, {8, 12, {8, 8}}, {10, 13, {8, 8}},
};

TEST_P(SlabOfAnImage, IsCutIntoWindowsThatRepeatItsBorder) {
    for (const Rect& window : kWindows) {
        std::vector<std::byte> cut(static_cast<size_t>(window.extent.pixels()) * slab_.pixels.pixel_bytes());
        cut_window(slab_, window, cut.data());
        for (int64_t y = 0; y < window.extent.h; ++y)
            for (int64_t x = 0; x < window.extent.w; ++x)
                ASSERT_EQ(
                    std::memcmp(cut.data() + static_cast<size_t>(y * window.extent.w + x) * slab_.pixels.pixel_bytes(),
                                nearest(window, y, x), slab_.pixels.pixel_bytes()),
                    0)
                    << window.row << ", " << window.column << ": " << y << ", " << x;
    }
}

double unit_value(const std::byte* sample, DType type) {
    uint16_t word = 0;
    float value = 0;
    switch (type) {
        case DType::u8: return static_cast<double>(*sample) / 255;
        case DType::u16: std::memcpy(&word, sample, sizeof word); return word / 65535.0;
        default: std::memcpy(&value, sample, sizeof value); return value;
    }
}

TEST_P(SlabOfAnImage, IsCutIntoTheInputOfANetwork) {
    for (const bool has_sigma : {false, true}) {
        device::Conversion conversion;
        if (has_sigma) conversion.sigma = 0.25F;
        const int64_t channels = has_sigma ? 4 : 3;
        for (const Rect& window : kWindows) {
            std::vector<float> cut(static_cast<size_t>(window.extent.pixels() * channels));
            cut_window_to_f32(slab_, window, conversion, cut.data());
            const float* value = cut.data();
            for (int64_t y = 0; y < window.extent.h; ++y)
                for (int64_t x = 0; x < window.extent.w; ++x)
                    for (int64_t c = 0; c < channels; ++c, ++value) {
                        const std::byte* pixel = nearest(window, y, x);
                        const double expected =
                            c == 3 ? 0.25
                                   : unit_value(pixel + static_cast<size_t>(c) * size_of(slab_.pixels.dtype),
                                                slab_.pixels.dtype);
                        ASSERT_NEAR(*value, expected, 1e-6 * std::max(1.0, expected)) << y << ", " << x << ", " << c;
                    }
        }
    }
}

TEST_P(SlabOfAnImage, TakesTheCoreOfAWindowOnly) {
    const plan::Tile tile{.window = {4, 4, {6, 7}}, .core = {5, 6, {3, 2}}};
    std::vector<std::byte> window(static_cast<size_t>(tile.window.extent.pixels()) * slab_.pixels.pixel_bytes());
    cut_window(slab_, tile.window, window.data());
    const std::vector<std::byte> image = bytes_;
    for (std::byte& byte : bytes_) byte = ~byte;
    write_core(window.data(), tile, slab_);
    const auto index = [&](const std::byte* pixel) { return static_cast<size_t>(pixel - bytes_.data()); };
    for (int64_t y = 3; y < kImage.h; ++y)
        for (int64_t x = 2; x < kImage.w; ++x) {
            const bool is_core = y >= 5 && y < 8 && x >= 6 && x < 8;
            const size_t at = index(slab_.at(y, x));
            EXPECT_EQ(std::memcmp(bytes_.data() + at, image.data() + at, slab_.pixels.pixel_bytes()) == 0, is_core)
                << y << ", " << x;
        }
}

}  // namespace
}  // namespace pb::run
