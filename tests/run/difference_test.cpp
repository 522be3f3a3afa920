// Outputs of bytes beside expected values that bytes cannot hold.
#include "run/verify/difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pb::run {
namespace {

constexpr Extent kExtent{1, 2};
constexpr float kByte = 1.F / 255;
constexpr double kPrecision = 1e-4;  // tolerance, without the rounding of bytes

class DifferenceOfBytes : public testing::Test {
  protected:
    DifferenceOfBytes() {
        config::ImageSettings scene;
        scene.height = kExtent.h;
        scene.width = kExtent.w;
        scene.channels = 1;
        source_ = std::make_unique<ImageSource>(scene);
        slab_ = slab_of({0, 0, kExtent}, kExtent, 1, DType::u8, memory_);
        sink_ = std::make_unique<MemorySink>(slab_, *source_);
    }

    Difference find(std::vector<uint8_t> stored, std::vector<float> expected) {
        std::ranges::copy(std::as_bytes(std::span(stored)), memory_.begin());
        image::Image image(kExtent, 1, DType::f32);
        std::ranges::copy(expected, image.as<float>());
        return find_difference(*sink_, {0, 0, kExtent}, std::move(image), {kPrecision + rounding(), 1});
    }
    [[nodiscard]] double rounding() const { return sink_->quantisation().rounding; }

    std::vector<std::byte> memory_;
    Slab slab_;
    std::unique_ptr<ImageSource> source_;
    std::unique_ptr<MemorySink> sink_;
};

TEST_F(DifferenceOfBytes, IsThatOfClippedValues) {
    EXPECT_NEAR(find({255, 0}, {1.5F, -3}).largest, 0, 1e-7);
    EXPECT_NEAR(find({250, 0}, {1, 0}).largest, 5 * kByte, 1e-6);
    EXPECT_EQ(find({250, 0}, {1, 0}).column, 0);
}

// The rounding of a value of 10 is 10 times that of 1, that of a byte is the same.
TEST_F(DifferenceOfBytes, IsDividedByTheLargestValueBeforeItIsClippedButForTheRounding) {
    EXPECT_NEAR(find({255, 100}, {10, 98 * kByte}).largest, rounding() + (2 * kByte - rounding()) / 10, 1e-6);
    EXPECT_NEAR(find({255, 100}, {10, 99.75F * kByte}).largest, kByte / 4, 1e-6);
}

// One value that bytes cannot hold must not hide what is wrong beside it.
TEST_F(DifferenceOfBytes, AllowsHalfALevelMoreForHugeValuesAtMost) {
    const Tolerance tolerance{kPrecision + rounding(), 1};
    EXPECT_LE(find({255, 100}, {5e4F, 99.1F * kByte}).excess(tolerance), 1);
    EXPECT_GT(find({255, 100}, {5e4F, 98.9F * kByte}).excess(tolerance), 1);
    EXPECT_GT(find({255, 100}, {1, 99.1F * kByte}).excess(tolerance), 1);
}

TEST_F(DifferenceOfBytes, IsNotANumberWhereTheExpectedValueIsNotFinite) {
    for (const float value : {HUGE_VALF, -HUGE_VALF, std::numeric_limits<float>::quiet_NaN()})
        for (const uint8_t stored : {0, 255}) {
            const Difference found = find({0, stored}, {0, value});
            EXPECT_TRUE(std::isnan(found.largest)) << value;
            EXPECT_EQ(found.column, 1);
        }
}

// As the pipeline writes them, with the halo of a window.
TEST_F(DifferenceOfBytes, ValuesThatAreLostAreCountedInTheCoreAlone) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const plan::Tile tile{{0, 0, kExtent}, {0, 1, {1, 1}}};
    const std::vector<float> halo{kNan, 0.5F}, core{0.5F, kNan};
    write_core_from_f32(halo.data(), tile, {}, *sink_);
    EXPECT_EQ(sink_->num_lost(), 0);
    write_core_from_f32(core.data(), tile, {}, *sink_);
    EXPECT_EQ(sink_->num_lost(), 1);
}

}  // namespace
}  // namespace pb::run
