#include "run/pixels/core_sink.hpp"

#include "image/image.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pb::run {
namespace {

TEST(OddSamples, AreCountedInTheLastChannelOfTheLastPixelToo) {
    image::Image image({3, 5}, 3, DType::f32);
    const int64_t count = image.extent().pixels() * image.channels();
    for (int64_t i = 0; i < count; ++i) image.as<float>()[i] = 0.5F;
    EXPECT_EQ(count_odd(image.view()), 0);
    image.as<float>()[count - 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(count_odd(image.view()), 1);
    image.as<float>()[0] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(count_odd(image.view()), 2);
}

TEST(OddSamples, OfIntegersAreZeros) {
    image::Image image({2, 2}, 1, DType::u16);
    for (int i = 0; i < 4; ++i) image.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    EXPECT_EQ(count_odd(image.view()), 1);
}

TEST(AnomalyTracker, KeepsAPartOfWhichASixteenthIsBlack) {
    const Rect part{8, 16, {10, 16}};
    AnomalyTracker tracker;
    EXPECT_FALSE(tracker.add(part, 9, 160, false)) << "fewer zeros can be in any image";
    EXPECT_FALSE(tracker.part());
    EXPECT_TRUE(tracker.add(part, 10, 160, false));
    EXPECT_EQ(tracker.part(), part);
}

/// As the ragged last core of an image with some black pixels is, when a fault leaves it empty.
TEST(AnomalyTracker, KeepsASmallBlackPartBesideALargeOneWithSomeZeros) {
    const Rect last{256, 256, {16, 16}};
    AnomalyTracker tracker;
    EXPECT_FALSE(tracker.add({0, 0, {256, 256}}, 4000, 256 * 256, false));
    EXPECT_TRUE(tracker.add(last, 256, 256, false));
    EXPECT_EQ(tracker.part(), last);
    EXPECT_FALSE(tracker.add({0, 256, {256, 16}}, 256, 256 * 16, false)) << "no more than the other";
}

}  // namespace
}  // namespace pb::run
