// What the steps of a forward call cost, against figures counted by hand.
#include "network/graph_facts.hpp"
#include "network/native_layout.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>

namespace pb::network {
namespace {

constexpr Fusing kAll{.relu = true, .sum = true};

std::vector<StepCost> costs_of(const NetworkShape& shape, const Fusing& fusing = kAll) {
    const Graph graph = graph_of(shape);
    std::vector<StepCost> costs;
    for (const Step& step : steps_of(graph, fusing)) costs.push_back(cost_of(graph, step));
    return costs;
}

TEST(StepCosts, AreThoseOfASmallChainCountedByHand) {
    const auto costs = costs_of(DncnnShape{.channels = 3, .depth = 2, .width = 8});
    ASSERT_EQ(costs.size(), 3U);
    EXPECT_EQ(costs[0].layer, "in_conv");
    EXPECT_EQ(costs[0].operation, "convolution 3x3, 3 to 8, relu");
    EXPECT_EQ(costs[0].flop_per_pixel, 2 * 8 * 3 * 9);
    EXPECT_EQ(costs[0].values_per_pixel, 3 + 8) << "the map between convolution and ReLU is not stored";
    EXPECT_EQ(costs[0].weights, 8 * 3 * 9 + 8);
    EXPECT_EQ(costs[1].operation, "convolution 3x3, 8 to 3");
    EXPECT_EQ(costs[2].layer, "add 4") << "the sum that makes the output is a step of its own";
    EXPECT_EQ(costs[2].flop_per_pixel, 0);
    EXPECT_EQ(costs[2].values_per_pixel, 9) << "it reads two maps and writes one";
    EXPECT_EQ(costs[1].flop(10), 10 * 2 * 3 * 8 * 9);
    EXPECT_EQ(costs[1].bytes(10, 2), 2 * (10 * (8 + 3) + 3 * 8 * 9 + 3));
}

TEST(StepCosts, OfALowerScaleAreThoseOfItsPixels) {
    const auto costs = costs_of(DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 1});
    const auto find = [&](const std::string& layer) {
        return *std::find_if(costs.begin(), costs.end(), [&](const auto& cost) { return cost.layer == layer; });
    };
    EXPECT_EQ(find("m_down1.1").operation, "convolution 2x2, 8 to 16");
    EXPECT_EQ(find("m_down1.1").flop_per_pixel, 2 * 16 * 8 * 4 / 4.0);
    EXPECT_EQ(find("m_down1.1").values_per_pixel, 8 + 16 / 4.0);
    EXPECT_EQ(find("m_up1.0").flop_per_pixel, 2 * 8 * 16) << "each output pixel has one tap";
    EXPECT_EQ(find("m_body.0.res.2").values_per_pixel, 3 * 16 / 4.0) << "with the map that is added";
    EXPECT_EQ(find("m_body.0.res.2").operation, "convolution 3x3, 16 to 16, add");
}

TEST(StepCosts, AddUpToTheNetworksForAnyFusing) {
    for (const auto& [network, name] : enum_table<NetworkKind>()) {
        SCOPED_TRACE(std::string(name));
        for (const Fusing fusing : {kAll, Fusing{.relu = false, .sum = false}}) {
            double flop = 0;
            for (const StepCost& cost : costs_of(standard_shape(network, 3), fusing)) flop += cost.flop_per_pixel;
            EXPECT_EQ(flop, 2 * network_facts(network, 3).mac_per_pixel);
        }
    }
}

/// Winograd's method multiplies 36 times for 16 pixels of 9 taps, with small tiles 16 times for 4.
TEST(NativeCosts, AreAQuarterWhereWinogradsMethodFits) {
    const Graph graph = DncnnShape{.depth = 3, .width = 32}.graph();
    const double ends = 2 * 9 * 2 * 3 * 32, middle = 2 * 9 * 32 * 32;
    EXPECT_DOUBLE_EQ(native_flop_per_pixel(graph, {}), ends + middle / 4);
    EXPECT_DOUBLE_EQ(native_flop_per_pixel(graph, {.tile = kSmallWinogradTile}), ends + middle * 4 / 9);
    EXPECT_DOUBLE_EQ(winograd_share(graph), middle / (ends + middle));
    EXPECT_EQ(winograd_share(DncnnShape{.depth = 3, .width = 8}.graph()), 0);
}

}  // namespace
}  // namespace pb::network
