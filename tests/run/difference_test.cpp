// Outputs of bytes beside expected values that bytes cannot hold.
#include "run/verify/difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pb::run {
namespace {

constexpr Extent kExtent{1, 512};
using Pair = std::array<float, 2>;  // an image is a row of such pairs
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
        sink_ = std::make_unique<MemorySink>(slab_, source_.get());
    }

    static image::Image repeated(const Pair& samples, int64_t width) {
        image::Image image({1, width}, 1, DType::f32);
        for (int64_t i = 0; i < width; ++i) image.as<float>()[i] = samples.at(static_cast<size_t>(i % 2));
        return image;
    }
    Difference find(std::array<uint8_t, 2> stored, const Pair& expected, const Pair& noisy = {0, 0},
                    int64_t width = kExtent.w) {
        for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = std::byte{stored.at(i % 2)};
        return find_difference(*sink_,
                               {{0, 0, {1, width}}, repeated(expected, width), [&] { return repeated(noisy, width); }},
                               {kPrecision + rounding(), 1, 0, 0});
    }
    [[nodiscard]] double rounding() const { return sink_->quantisation().rounding; }

    std::vector<std::byte> memory_;
    Slab slab_;
    std::unique_ptr<ImageSource> source_;
    std::unique_ptr<MemorySink> sink_;
};

TEST(Difference, SaysWhereItIsLargest) {
    constexpr Extent kWhole{2, 3};
    config::ImageSettings scene;
    scene.height = kWhole.h;
    scene.width = kWhole.w;
    scene.channels = 3;
    ImageSource source(scene);
    std::vector<std::byte> memory;
    const Slab slab = slab_of({0, 0, kWhole}, kWhole, 3, DType::f32, memory);
    image::Image expected(kWhole, 3, DType::f32);
    std::fill_n(expected.as<float>(), expected.num_samples(), 0.5F);
    std::ranges::copy(expected.bytes(), memory.begin());
    reinterpret_cast<float*>(memory.data())[3 * 5 + 1] = 0.75F;
    MemorySink sink(slab, &source);
    const auto noisy = [&] { return image::Image(kWhole, 3, DType::f32); };
    const Difference found = find_difference(sink, {{0, 0, kWhole}, expected, noisy}, {kPrecision, 1, 0, 0});
    EXPECT_EQ(found.row, 1);
    EXPECT_EQ(found.column, 2);
    EXPECT_EQ(found.channel, 1);
}

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
    const Tolerance tolerance{kPrecision + rounding(), 1, 0, 0};
    EXPECT_LE(find({255, 100}, {5e4F, 99.1F * kByte}).excess(tolerance), 1);
    EXPECT_GT(find({255, 100}, {5e4F, 98.9F * kByte}).excess(tolerance), 1);
    EXPECT_GT(find({255, 100}, {1, 99.1F * kByte}).excess(tolerance), 1);
}

// 16 bits are finer than the rounding of a network that makes large values.
TEST(ErrorScaleTest, AllowsTwiceTheToleranceWhereWhatIsStoredIsFine) {
    image::Image expected({1, 2}, 1, DType::f32);
    expected.as<float>()[0] = 53;
    const Quantisation stored{.rounding = 0.5 / 65535, .limits = image::SampleRange{0, 1}};
    const double tolerance = kPrecision + stored.rounding;
    const ErrorScale scale(expected, stored, tolerance);
    EXPECT_LE(scale.of(1.9 * kPrecision), tolerance);
    EXPECT_GT(scale.of(2.2 * kPrecision), tolerance);
}

// What is clipped from the input when it is stored is no change by the network.
TEST_F(DifferenceOfBytes, AllOfTheChangeIsMissingFromTheInputAsStored) {
    const Difference input = find({255, 90}, {1, 100 * kByte}, {1.5F, 90 * kByte});
    EXPECT_NEAR(input.rms, std::sqrt(50) * kByte, 1e-6);
    EXPECT_NEAR(input.change.value().rms, input.rms, 1e-6);
    EXPECT_NEAR(input.change.value().missing, input.rms, 1e-6);
}

TEST_F(DifferenceOfBytes, WhatIsMissingLiesAlongTheChange) {
    const Pair expected{100 * kByte, 100 * kByte}, noisy{90 * kByte, 110 * kByte};
    const auto missing = [&](const std::array<uint8_t, 2>& stored) {
        return find(stored, expected, noisy).change.value().missing;
    };
    EXPECT_NEAR(missing({98, 102}), 2 * kByte, 1e-6);
    EXPECT_NEAR(missing({102, 98}), -2 * kByte, 1e-6);
    EXPECT_NEAR(missing({98, 98}), 0, 1e-6);
    EXPECT_NEAR(missing({80, 120}), 10 * kByte, 1e-6) << "all of it, and no more";
    EXPECT_NEAR(find({98, 98}, expected, expected).change.value().missing, 0, 1e-6) << "there is no change";
}

TEST_F(DifferenceOfBytes, FewSamplesAreNotJudgedByTheChange) {
    const Pair expected{100 * kByte, 100 * kByte}, noisy{90 * kByte, 110 * kByte};
    EXPECT_FALSE(find({90, 110}, expected, noisy, kExtent.w - 1).change);
}

/// Two samples that are stored in a file's type.
class MappedSink final : public CoreSink {
  public:
    MappedSink(DType type, std::optional<double> nodata)
        : type_(type), map_(type, image::range_of_type(type).value(), nodata.has_value(), nodata) {}
    [[nodiscard]] Extent extent() const override { return {1, 2}; }
    [[nodiscard]] DType dtype() const override { return type_; }
    [[nodiscard]] Quantisation quantisation() const override {
        return {map_.rounding() + 1e-6, map_.limits(), is_float(type_), &map_};
    }
    [[nodiscard]] Slab map(const Rect& /*core*/) override { return {}; }
    void commit(const Rect& /*core*/) override {}
    [[nodiscard]] image::Image read(const Rect& /*part*/) override { return std::move(written_); }

    /// The excess of `written`, once it is stored, where `expected` is right.
    double excess(const Pair& written, const Pair& expected) {
        const double largest = kPrecision + quantisation().rounding, rms = quantisation().rounding + kPrecision / 8;
        const Tolerance tolerance{.largest = largest, .rms = rms, .least_rms = rms, .least_missing = rms};
        image::Image stored(extent(), 1, type_);
        map_.from_unit(image_of(written).view(), stored.view());
        written_ = image::Image(extent(), 1, DType::f32);
        map_.to_unit(stored.view(), written_.view());
        return find_difference(*this, {{0, 0, extent()}, image_of(expected), {}}, tolerance).excess(tolerance);
    }

  private:
    static image::Image image_of(const Pair& samples) {
        image::Image image({1, 2}, 1, DType::f32);
        std::ranges::copy(samples, image.as<float>());
        return image;
    }

    DType type_;
    image::SampleMap map_;
    image::Image written_;
};

TEST(DifferenceOfStored, MayBeALevelWhereNodataWouldBeWrittenAndNowhereElse) {
    for (const auto& [nodata, right] : {std::pair(128.0, Pair{128.1F * kByte, 127.9F * kByte}),
                                        std::pair(0.0, Pair{0, -3}), std::pair(255.0, Pair{254.9F * kByte, 1.5F})}) {
        MappedSink sink(DType::u8, nodata);
        EXPECT_LE(sink.excess(right, right), 1) << nodata;
    }
    MappedSink sink(DType::u8, 128);
    EXPECT_GT(sink.excess({130 * kByte, 127 * kByte}, {128.4F * kByte, 127 * kByte}), 1) << "a level too far";
    EXPECT_GT(sink.excess({127 * kByte, 127 * kByte}, {126.2F * kByte, 127 * kByte}), 1) << "not for nodata";
    EXPECT_GT(sink.excess({60 * kByte, 127 * kByte}, {60.8F * kByte, 127 * kByte}), 1) << "far from nodata";
    EXPECT_GT(MappedSink(DType::u8, std::nullopt).excess({127 * kByte, 0}, {127.9F * kByte, 0}), 1) << "without nodata";
}

TEST(DifferenceOfStored, OfFloatsGrowsWithTheValueBeyondTheRangeAlone) {
    MappedSink sink(DType::f16, std::nullopt);
    for (const float large : {3.001F, 37.01F, 5003.F}) EXPECT_LE(sink.excess({large, 0.3F}, {large, 0.3F}), 1) << large;
    EXPECT_GT(sink.excess({37.1F, 0.3F}, {37.01F, 0.3F}), 1);
    EXPECT_GT(sink.excess({0.9F, 0.301F}, {0.9F, 0.3F}), 1) << "within the range";
}

TEST(DifferenceOfStored, OfFloatsGoesByTheLargestValueAsInMemory) {
    MappedSink sink(DType::f32, std::nullopt);
    EXPECT_LE(sink.excess({5700.05F, 0.35F}, {5700, 0.3F}), 1);
    EXPECT_GT(sink.excess({5701, 0.3F}, {5700, 0.3F}), 1);
}

TEST(ToleranceTest, GoesByHalfOfTheChangeBetweenItsLimits) {
    const Tolerance tolerance{.largest = 0.1, .rms = 0.01, .least_rms = 0.004, .least_missing = 0.002};
    EXPECT_EQ(tolerance.rms_where(0), 0.004);
    EXPECT_EQ(tolerance.rms_where(0.012), 0.006);
    EXPECT_EQ(tolerance.rms_where(1), 0.01);
    EXPECT_EQ(tolerance.missing_where(0), 0.002);
    EXPECT_EQ(tolerance.missing_where(1), 0.5);
}

TEST(ToleranceTest, IsExceededByTheRootMeanSquareAndByWhatIsMissing) {
    const Tolerance tolerance{.largest = 0.1, .rms = 0.01, .least_rms = 0.004, .least_missing = 0.002};
    const Difference right{.largest = 0.02, .rms = 0.0039, .change = Change{.rms = 0.005, .missing = 0.0024}};
    EXPECT_LT(right.excess(tolerance), 1);
    Difference wrong = right;
    wrong.rms = 0.0041;
    EXPECT_GT(wrong.excess(tolerance), 1);
    wrong.change.reset();
    EXPECT_LT(wrong.excess(tolerance), 1);
    wrong = right;
    wrong.change->missing = 0.0026;
    EXPECT_GT(wrong.excess(tolerance), 1);
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
    const plan::Tile tile{{0, 0, {1, 2}}, {0, 1, {1, 1}}};
    const std::vector<float> halo{kNan, 0.5F}, core{0.5F, kNan};
    write_core_from_f32(halo.data(), tile, {}, *sink_);
    EXPECT_EQ(sink_->num_lost(), 0);
    write_core_from_f32(core.data(), tile, {}, *sink_);
    EXPECT_EQ(sink_->num_lost(), 1);
}

}  // namespace
}  // namespace pb::run
