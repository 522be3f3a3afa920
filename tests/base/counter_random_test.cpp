#include "base/counter_random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace pb {
namespace {

// Known answers of Random123's kat_vectors (philox4x32, 10 rounds).
TEST(CounterRandom, GivesTheKnownAnswersOfPhilox) {
    using Block = std::array<uint32_t, 4>;
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace pb
