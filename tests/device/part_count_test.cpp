// Values that are not finite on the CPU, against what each of them is.
#include "device/part_count.hpp"

#include "base/half.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pb::device {
namespace {

constexpr Shape kTwoImages{2, 3, 4, 5};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A batch of zeros.
class Batch {
  public:
    Batch(DType dtype, Layout layout, Shape shape) : memory_(shape.elements()) {
        view_ = {memory_.data(), shape, dtype, layout, {}};
    }
    void set(int64_t n, int64_t c, int64_t row, int64_t column, float value) {
        const auto [num, channels, h, w] = view_.shape;
        const int64_t place = view_.layout == Layout::channels_last ? ((n * h + row) * w + column) * channels + c
                                                                    : ((n * channels + c) * h + row) * w + column;
        if (view_.dtype == DType::f32)
            memory_[place] = value;
        else
            static_cast<uint16_t*>(view_.pointer)[place] =
                view_.dtype == DType::bf16 ? bf16_bits(value) : f16_bits(value);
    }
    [[nodiscard]] std::vector<uint32_t> counts(const std::vector<Rect>& parts) const {
        std::vector<PartCount> counted;
        for (const Rect& part : parts) counted.push_back({part});
        Stream stream{DeviceId{}};
        count_not_finite(view_, counted.data(), std::ssize(counted), stream);
        std::vector<uint32_t> counts;
        for (const PartCount& part : counted) counts.push_back(part.not_finite);
        return counts;
    }

  private:
    std::vector<float> memory_;
    BatchView view_;
};

using Kind = std::tuple<DType, Layout>;
class PartCounts : public testing::TestWithParam<Kind> {
  protected:
    [[nodiscard]] static Batch batch(const Shape& shape = kTwoImages) {
        return {std::get<DType>(GetParam()), std::get<Layout>(GetParam()), shape};
    }
};
INSTANTIATE_TEST_SUITE_P(Kinds, PartCounts,
                         testing::Combine(testing::Values(DType::f32, DType::bf16, DType::f16),
                                          testing::Values(Layout::channels_last, Layout::contiguous)));

TEST_P(PartCounts, AreOfNanAndInfinitiesNotOfTheLargestValues) {
    Batch values = batch();
    const float largest = std::get<DType>(GetParam()) == DType::f16 ? 65504.F : 3e38F;
    int64_t column = 0;
    for (const float value : {kNan, HUGE_VALF, -HUGE_VALF, largest, -largest}) values.set(0, 0, 0, column++, value);
    EXPECT_EQ(values.counts({{0, 0, {4, 5}}, {0, 0, {4, 5}}}), (std::vector<uint32_t>{3, 0}));
}

TEST_P(PartCounts, AreOfAllPlacesOfAPartOfItsImageAlone) {
    const Rect first{1, 1, {2, 3}}, second{0, 2, {4, 1}};
    Batch values = batch();
    for (int64_t c = 0; c < kTwoImages.c; ++c)
        for (int64_t row = 0; row < kTwoImages.h; ++row)
            for (int64_t column = 0; column < kTwoImages.w; ++column) {
                const auto is_in = [&](const Rect& part) {
                    return row >= part.row && row < part.row + part.extent.h && column >= part.column &&
                           column < part.column + part.extent.w;
                };
                if (!is_in(first)) values.set(0, c, row, column, kNan);
                if (is_in(second)) values.set(1, c, row, column, kNan);
            }
    EXPECT_EQ(values.counts({first, second}), (std::vector<uint32_t>{0, 12}));
    EXPECT_EQ(values.counts({second, first}), (std::vector<uint32_t>{6, 6}));
}

TEST_P(PartCounts, AreOfSeveralPartsOfASingleImage) {
    Batch values = batch({1, 3, 4, 5});
    values.set(0, 2, 3, 4, kNan);
    EXPECT_EQ(values.counts({{0, 0, {3, 5}}, {3, 0, {1, 4}}, {3, 0, {1, 5}}}), (std::vector<uint32_t>{0, 0, 1}));
}

TEST(PartCount, RefusesMorePartsThanImagesAndOtherTypes) {
    const std::vector<Rect> parts(3, Rect{0, 0, {1, 1}});
    EXPECT_THROW((void)Batch(DType::f32, Layout::channels_last, kTwoImages).counts(parts), Error);
    EXPECT_THROW((void)Batch(DType::u8, Layout::channels_last, {1, 1, 1, 1}).counts(parts), Error);
}

}  // namespace
}  // namespace pb::device
