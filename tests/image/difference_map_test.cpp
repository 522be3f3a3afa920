#include "image/quality.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::image {
namespace {

float& sample(Image& image, int64_t y, int64_t x, int64_t c) {
    return image.as<float>()[(y * image.extent().w + x) * image.channels() + c];
}

TEST(DifferenceMap, HoldsTheLargestDifferenceOfEachCell) {
    Image a({10, 13}, 3, DType::f32), b({10, 13}, 3, DType::f32);
    sample(a, 3, 3, 2) = 0.5F;   // cell 0, 0
    sample(b, 0, 0, 0) = 0.25F;  // the same cell, less
    sample(b, 9, 12, 1) = 2.0F;  // the other way round, in the last cell, which is cut short both ways
    const DifferenceMap map = map_differences(a.view(), b.view());
    EXPECT_EQ(map.cell_px, 4);
    ASSERT_EQ(map.largest.size(), 3u * 4u);
    EXPECT_EQ(map.largest.front(), 0.5);
    EXPECT_EQ(map.largest.back(), 2);
    EXPECT_EQ(std::count(map.largest.begin(), map.largest.end(), 0.0), 10);
}

TEST(DifferenceMap, KeepsNotANumber) {
    Image a({8, 8}, 1, DType::f32), b({8, 8}, 1, DType::f32);
    sample(a, 5, 1, 0) = std::numeric_limits<float>::quiet_NaN();
    sample(a, 6, 1, 0) = 7;
    const DifferenceMap map = map_differences(a.view(), b.view());
    EXPECT_TRUE(std::isnan(map.largest[2]));
    EXPECT_EQ(map.largest[0], 0);
}

TEST(DifferenceMap, StaysSmallForLargeImages) {
    const Image a({30, 1000}, 1, DType::f32);
    const DifferenceMap map = map_differences(a.view(), a.view());
    EXPECT_EQ(map.cell_px, 32);
    EXPECT_EQ(map.largest.size(), 32u);
}

TEST(DifferenceMap, RefusesImagesOfUnequalShape) {
    const Image a({8, 8}, 1, DType::f32), b({8, 9}, 1, DType::f32);
    EXPECT_THROW((void)map_differences(a.view(), b.view()), std::exception);
}

}  // namespace
}  // namespace pb::image
