#include "base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace pb {
namespace {

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const auto pattern = static_cast<uint16_t>(bits);
        ASSERT_TRUE(std::isnan(f16_value(pattern)) || f16_bits(f16_value(pattern)) == pattern) << pattern;
        ASSERT_TRUE(std::isnan(bf16_value(pattern)) || bf16_bits(bf16_value(pattern)) == pattern) << pattern;
    }
}

TEST(Half, NotANumberStaysOne) {
    for (const uint32_t bits : {0x7F800001U, 0x7FC00000U, 0xFFFFFFFFU}) {
        EXPECT_TRUE(std::isnan(f16_value(f16_bits(std::bit_cast<float>(bits)))));
        EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(std::bit_cast<float>(bits)))));
    }
}

/// Between the neighbours `low` and `low + 1`: just below the middle, the middle (to the even one), just above.
template <class ToBits, class ToValue>
void expect_nearest_even(uint16_t low, ToBits to_bits, ToValue to_value) {
    const auto high = static_cast<uint16_t>(low + 1);
    const float middle = (to_value(low) + to_value(high)) / 2;
    ASSERT_EQ(to_bits(std::nextafter(middle, to_value(low))), low);
    ASSERT_EQ(to_bits(middle), low % 2 == 0 ? low : high);
    ASSERT_EQ(to_bits(std::nextafter(middle, to_value(high))), high);
    ASSERT_EQ(to_bits(-middle), (low % 2 == 0 ? low : high) | 0x8000);
}

TEST(Half, RoundsToNearestEven) {
    for (uint32_t low = 0; low < 0x7BFF; ++low) expect_nearest_even(static_cast<uint16_t>(low), f16_bits, f16_value);
    for (uint32_t low = 0x80; low < 0x7F00; ++low)
        expect_nearest_even(static_cast<uint16_t>(low), bf16_bits, bf16_value);
}

TEST(Half, KnownValues) {
    EXPECT_EQ(f16_bits(1.0F), 0x3C00);
    EXPECT_EQ(f16_bits(65504.0F), 0x7BFF);
    EXPECT_EQ(f16_bits(65520.0F), 0x7C00);
    EXPECT_EQ(f16_bits(-std::numeric_limits<float>::infinity()), 0xFC00);
    EXPECT_EQ(f16_bits(0x1p-24F), 0x0001);
    EXPECT_EQ(bf16_bits(1.0F), 0x3F80);
    EXPECT_EQ(bf16_bits(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace pb
