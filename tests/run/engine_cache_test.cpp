// Engines that are kept from one point to the next.
#include "run/point/engine_cache.hpp"

#include <gtest/gtest.h>

namespace pb::run {
namespace {

std::shared_ptr<const engine::Weights> gray_weights(uint64_t seed) {
    return std::make_shared<const engine::Weights>(
        engine::make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 3, .width = 32}, seed));
}

TEST(EngineCache, GivesEachCallerAnEngineUnlessItKeepsThem) {
    EngineCache engines;
    const auto weights = gray_weights(1);
    EXPECT_NE(engines.find(weights, {}), engines.find(weights, {}));
    engines.keep();
    EXPECT_EQ(engines.find(weights, {}), engines.find(weights, {}));
}

TEST(EngineCache, TellsWeightsAndOptionsApart) {
    EngineCache engines;
    engines.keep();
    const auto weights = gray_weights(1);
    const auto engine = engines.find(weights, {});
    engine::EngineOptions others;
    others.layout = Layout::contiguous;
    EXPECT_NE(engines.find(weights, others), engine);
    others = {.precision = Precision::bf16};
    EXPECT_NE(engines.find(weights, others), engine);
    EXPECT_NE(engines.find(gray_weights(1), {}), engine);
    EXPECT_EQ(engines.find(weights, {}), engine);
    others = {.engine = EngineKind::native};
    const auto native = engines.find(weights, others);
    others.winograd_tile = 2;
    EXPECT_NE(engines.find(weights, others), native);
}

TEST(EngineCache, DropsTheOldest) {
    EngineCache engines;
    engines.keep();
    const auto weights = gray_weights(1);
    const std::weak_ptr<engine::Denoiser> first = engines.find(weights, {});
    for (uint64_t seed = 2; seed <= 4; ++seed) (void)engines.find(gray_weights(seed), {});
    EXPECT_FALSE(first.expired());
    (void)engines.find(gray_weights(5), {});
    EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace pb::run
