// Constants of the networks against what their layers say.
#include "run/verify/reach.hpp"

#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace pb::run {
namespace {

// One of each network.
TEST(Reach, IsThatOfTheLayers) {
    const auto expect = [](network::NetworkKind kind, int64_t alignment, int64_t halo, bool takes_sigma) {
        SCOPED_TRACE(name_of(kind));
        const Reach reach = reach_of(engine::make_seeded_weights(kind, 3, 1));
        EXPECT_EQ(reach.alignment, alignment);
        EXPECT_EQ(reach.halo, halo);
        EXPECT_EQ(reach.takes_sigma, takes_sigma);
    };
    expect(network::kind_of<network::DrunetShape>(), 8, 192, true);
    expect(network::kind_of<network::UnetShape>(), 8, 56, false);
    expect(network::kind_of<network::DncnnShape>(), 1, 20, false);
}

TEST(Reach, AgreesWithTheTable) {
    for (const auto kind : test::all_networks())
        for (const int64_t channels : {1, 3}) {
            const engine::Weights weights = engine::make_seeded_weights(kind, channels, 1);
            EXPECT_EQ(find_wrong_fact(weights), std::nullopt) << name_of(kind);
            EXPECT_EQ(network::network_facts(kind).exact_halo, reach_of(weights).halo) << name_of(kind);
        }
}

// One of each network.
TEST(Reach, AgreesWithTheGraphsOfRelatives) {
    const std::vector<network::NetworkShape> relatives{
        network::DrunetShape{.widths = {8, 16}, .blocks = 1},
        network::DrunetShape{.widths = {4, 4, 4, 4, 4}, .blocks = 2}, network::UnetShape{.widths = {8, 20}},
        network::UnetShape{.widths = {4, 4, 4, 4, 4}}, network::DncnnShape{.depth = 7, .width = 8}};
    for (const network::NetworkShape& shape : relatives) {
        const engine::Weights weights = engine::make_seeded_weights(shape, 1);
        EXPECT_EQ(find_wrong_fact(weights), std::nullopt) << network::to_text(shape);
        EXPECT_EQ(reach_of(weights).halo, network::network_facts(shape).exact_halo) << network::to_text(shape);
    }
}

TEST(Reach, AGraphThatItsLayersContradictIsNamed) {
    engine::Weights weights = engine::make_seeded_weights(network::DrunetShape{.widths = {8, 16}, .blocks = 1}, 1);
    weights.convolutions.at("m_down1.1").stride = 1;
    EXPECT_EQ(find_wrong_fact(weights),
              "drunet: its graph says alignment 2, its layers 1: a fault of patchbench, please report it");
    engine::Weights longer = engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);
    longer.convolutions["conv_list.18"] = longer.convolutions["conv_list.17"];
    EXPECT_EQ(find_wrong_fact(longer),
              "dncnn: its graph says convolutions 20, its layers 21: a fault of patchbench, please report it");
    engine::Weights told = engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);
    told.convolutions.at(told.graph()[1].filter->weights).in_channels = 4;
    EXPECT_EQ(find_wrong_fact(told),
              "dncnn: its graph says sigma channels 0, its layers 1: a fault of patchbench, please report it");
}

/// Reaches beyond the line that the walk starts with.
TEST(Reach, OfAVeryDeepNetworkIsFound) {
    const network::DncnnShape shape{.channels = 1, .depth = 1100, .width = 1};
    EXPECT_EQ(reach_of(engine::make_seeded_weights(shape, 1)).halo, 1100);
}

plan::Point point_with(config::HaloSetting::Kind kind, int64_t halo) {
    plan::Point point;
    point.settings.network = network::kind_of<network::DncnnShape>();
    point.settings.halo.kind = kind;
    point.halo = halo;
    return point;
}

TEST(Reach, AnExactHaloThatIsTooShortIsNamedWithTheWayOut) {
    const engine::Weights deeper = engine::make_seeded_weights(network::DncnnShape{.depth = 21}, 1);
    EXPECT_EQ(reach_of(deeper).halo, 21);
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::exact, 20), deeper),
              "halo: exact is 20 px for dncnn, but the layers of these weights see 21 px: set halo: 21");
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::pixels, 20), deeper), std::nullopt)
        << "what was asked for";
    plan::Point carried = point_with(config::HaloSetting::Kind::automatic, 20);
    EXPECT_EQ(find_short_halo(carried, deeper), std::nullopt) << "with seams";
    carried.band_rows = 64;
    EXPECT_EQ(find_short_halo(carried, deeper),
              "halo: auto is 20 px for dncnn, but the layers of these weights see 21 px: set halo: 21");
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::exact, 20),
                              engine::make_seeded_weights(network::DncnnShape{}, 1)),
              std::nullopt);
}

/// It shows a halo that is too small, and an alignment that is a part of the true one: windows that are computed again
/// begin at other places of its period.
TEST(Reach, ContextOfACustomNetworkIsLongerAndOutOfStep) {
    engine::Weights weights;
    for (const int64_t alignment : {1, 2, 3, 8})
        for (int64_t halo = 0; halo <= 12 * alignment; halo += alignment) {
            weights.card = network::NetworkCard{.channels = 1, .alignment = alignment, .radius = halo, .halo = halo};
            const int64_t beyond = reach_of(weights).context - halo;
            EXPECT_GT(beyond, std::max<int64_t>(halo, 64));
            EXPECT_EQ(beyond % alignment, 0);
            for (const int64_t factor : {2, 3, 4}) EXPECT_NE(beyond % (factor * alignment), 0) << halo;
        }
}

TEST(Reach, OfACustomNetworkIsThatOfItsCard) {
    engine::Weights weights;
    weights.card = network::NetworkCard{.channels = 1, .alignment = 8};
    EXPECT_FALSE(reach_of(weights).is_bounded);
    EXPECT_EQ(reach_of(weights).step, 8);
    weights.card = network::NetworkCard{.channels = 1, .alignment = 8, .radius = 9, .halo = 16, .step = 1};
    EXPECT_TRUE(reach_of(weights).is_bounded);
    EXPECT_EQ(reach_of(weights).alignment, 8);
    EXPECT_EQ(reach_of(weights).halo, 16);
    EXPECT_EQ(reach_of(weights).step, 1);
}

}  // namespace
}  // namespace pb::run
