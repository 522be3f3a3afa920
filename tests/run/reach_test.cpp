// Constants of the networks against what their layers say.
#include "run/verify/reach.hpp"

#include <gtest/gtest.h>

namespace pb::run {
namespace {

TEST(Reach, IsThatOfTheLayers) {
    const auto expect = [](NetworkKind kind, int64_t alignment, int64_t halo, bool takes_sigma) {
        SCOPED_TRACE(name_of(kind));
        const Reach reach = reach_of(engine::make_seeded_weights(kind, 3, 1));
        EXPECT_EQ(reach.alignment, alignment);
        EXPECT_EQ(reach.halo, halo);
        EXPECT_EQ(reach.takes_sigma, takes_sigma);
    };
    expect(NetworkKind::drunet, 8, 192, true);
    expect(NetworkKind::unet, 8, 56, false);
    expect(NetworkKind::dncnn, 1, 20, false);
}

TEST(Reach, AgreesWithTheTable) {
    for (const auto kind : {NetworkKind::drunet, NetworkKind::unet, NetworkKind::dncnn})
        for (const int64_t channels : {1, 3}) {
            const engine::Weights weights = engine::make_seeded_weights(kind, channels, 1);
            EXPECT_EQ(find_wrong_fact(weights), std::nullopt) << name_of(kind);
            EXPECT_EQ(network::network_facts(kind).exact_halo, reach_of(weights).halo) << name_of(kind);
        }
}

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
    weights.shape = network::DrunetShape{.widths = {8, 16, 32}, .blocks = 1};
    EXPECT_EQ(find_wrong_fact(weights),
              "drunet: its graph says alignment 4, its layers 2: a fault of patchbench, please report it");
}

engine::Weights dncnn_with(const std::string& extra_layer) {
    engine::Weights weights = engine::make_seeded_weights(NetworkKind::dncnn, 3, 1);
    weights.convolutions[extra_layer] = weights.convolutions["conv_list.17"];
    return weights;
}

plan::Point point_with(config::HaloSetting::Kind kind, int64_t halo) {
    plan::Point point;
    point.settings.network = NetworkKind::dncnn;
    point.settings.halo.kind = kind;
    point.halo = halo;
    return point;
}

TEST(Reach, AnExactHaloThatIsTooShortIsNamedWithTheWayOut) {
    const engine::Weights deeper = dncnn_with("conv_list.18");
    EXPECT_EQ(reach_of(deeper).halo, 21);
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::exact, 20), deeper),
              "halo: exact is 20 px for dncnn, but the layers of these weights see 21 px: set halo: 21");
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::pixels, 20), deeper), std::nullopt)
        << "what was asked for";
    EXPECT_EQ(find_short_halo(point_with(config::HaloSetting::Kind::exact, 20), dncnn_with("conv_list.17")),
              std::nullopt);
}

}  // namespace
}  // namespace pb::run
