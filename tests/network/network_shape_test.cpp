#include "patchbench/network/network_shape.hpp"

#include "network/card/find_card.hpp"
#include "network/graph_text.hpp"
#include "network/random_graph.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pb::network {
namespace {

TEST(NetworkShapes, HaveTheNamesOfTheirPages) {
    EXPECT_TRUE(names_of<NetworkKind>().starts_with("drunet | unet | dncnn")) << "seeded weights depend on the order";
    EXPECT_EQ(parse_enum<NetworkKind>("unet"), kind_of<UnetShape>());
    EXPECT_EQ(kind_of<UnetShape>(), kind_of(UnetShape{}));
    EXPECT_EQ(name_of(kind_of<DncnnShape>()), "dncnn");
}

// One of each network.
TEST(NetworkShapes, AreWrittenAndReadBack) {
    const std::vector<std::pair<NetworkShape, std::string>> shapes{
        {DrunetShape{}, "widths 64-128-256-512, 4 blocks"},
        {DrunetShape{.channels = 1, .widths = {16}, .blocks = 1}, "widths 16, 1 blocks"},
        {UnetShape{.channels = 1, .widths = {8, 20}}, "widths 8-20"},
        {UnetShape{.widths = {1, 4096}}, "widths 1-4096"},
        {DncnnShape{.depth = 17, .residual = DncnnResidual::subtract}, "depth 17, width 64, residual subtract"},
        {DncnnShape{.depth = 2, .width = 8, .residual = DncnnResidual::none}, "depth 2, width 8, residual none"}};
    for (const auto& [shape, text] : shapes) {
        EXPECT_EQ(to_text(shape), text);
        EXPECT_EQ(parse_network_shape(kind_of(shape), channels_of(shape), text), shape) << text;
    }
}

TEST(NetworkShapes, RefuseOtherTexts) {
    for (const char* text : {"", "widths", "widths -64", "widths 64-", "widths 64, 0 blocks", "widths 64, 4 blocks ",
                             "widths 64, 99999 blocks", "widths 4097, 4 blocks", "depth 4, width 64, residual add"})
        EXPECT_THROW((void)parse_network_shape(kind_of<DrunetShape>(), 3, text), UsageError) << text;
    EXPECT_THROW((void)parse_network_shape(kind_of<DncnnShape>(), 3, "depth 4, width 64, residual both"), UsageError);
}

TEST(NetworkShapes, AreStandardForGrayAndColourOnly) {
    EXPECT_EQ(standard_shape(kind_of<UnetShape>(), 1), NetworkShape(UnetShape{.channels = 1}));
    for (const int64_t channels : {2, 3, 7})
        EXPECT_EQ(standard_shape(kind_of<DrunetShape>(), channels), NetworkShape(DrunetShape{}));
    EXPECT_EQ(kind_of(standard_shape(kind_of<DncnnShape>(), 3)), kind_of<DncnnShape>());
}

TEST(NetworkCards, AreStoredWithTheirLayers) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        const Graph graph = test::RandomGraph(seed).make();
        EXPECT_EQ(parse_graph(line_of(graph)), graph) << line_of(graph);
        const NetworkCard card{.channels = 1, .range = 255, .radius = 3, .halo = 4, .layers = graph};
        EXPECT_EQ(parse_network_card(stored_text(card)), card);
        EXPECT_EQ(stored_text(card), to_text(card) + ", layers " + line_of(graph));
    }
    GraphBuilder net;
    net.convolve(net.input(3), 3, {.weights = "a.b", .kernel = 1, .has_bias = true});
    EXPECT_EQ(line_of(net.graph()), "input 3; convolution 0 a.b 1 1 3 bias");
}

TEST(NetworkCards, RefuseOtherLayers) {
    for (const char* line :
         {"", "input", "input 3", "input 3 4", "input 3; relu", "input 3; relu 1", "input 3; relu -1",
          "input 3; tanh 0", "input 3; relu 0;; relu 1", "input 3; convolution 0 a 1 1",
          "input 3; convolution 0 a 5 1 3", "input 3; convolution 0 a 1 1 3 bias bias",
          "input 3; convolution 0 a 1 1 99999999 bias", "input 3; convolution 0 a 1 1 99999999999999999999",
          "input 3; max_pool 0", "input 3; relu 0 x"})
        EXPECT_THROW((void)parse_graph(line), UsageError) << line;
    EXPECT_THROW((void)parse_network_card("channels 3, layers input 3"), UsageError);
}

TEST(NetworkCards, NameWeightsByWords) {
    EXPECT_EQ(word_of("body.0/conv:1-a_b"), "body.0/conv:1-a_b");
    EXPECT_EQ(word_of("a b;c,d'\n\xFF"), "a_b_c_d___");
    EXPECT_EQ(word_of(""), "_");
    EXPECT_EQ(word_of(std::string(1000, 'a')).size(), 100U);
}

TEST(NetworkCards, FollowFromLayers) {
    GraphBuilder net;
    const size_t image = net.input(4);
    const size_t low = net.relu(net.convolve(image, 8, {.weights = "down", .kernel = 2, .stride = 2}));
    net.convolve(net.upsample(low), 3, {.weights = "last"});
    const NetworkCard card = card_of(net.graph());
    EXPECT_EQ(to_text(card), "channels 3, sigma channel, range 1, alignment 2, radius 2, halo 2");
    const NetworkFacts& facts = network_facts(card);
    EXPECT_EQ(facts.kind, kCustomKind);
    EXPECT_EQ(facts.exact_halo, 2);
    EXPECT_TRUE(facts.takes_sigma);
    EXPECT_EQ(facts.num_convolutions, 2);
    EXPECT_EQ(facts.parameters, 4 * 8 * 4 + 8 * 3 * 9);
    EXPECT_EQ(facts.mac_per_pixel, 4 * 8 * 4 / 4.0 + 8 * 3 * 9);
}

TEST(NetworkCards, WithoutLayersAreWhatTheySay) {
    NetworkCard card{.sigma = SigmaInput::input, .alignment = 8, .radius = 12, .halo = 16};
    EXPECT_EQ(network_facts(card).alignment, 8);
    EXPECT_EQ(network_facts(card).receptive_radius, 12);
    EXPECT_EQ(network_facts(card).exact_halo, 16);
    EXPECT_TRUE(network_facts(card).is_bounded);
    EXPECT_TRUE(network_facts(card).takes_sigma) << "as a second input";
    card.sigma = SigmaInput::none;
    EXPECT_FALSE(network_facts(card).takes_sigma);
    card.radius = card.halo = std::nullopt;
    EXPECT_FALSE(network_facts(card).is_bounded);
}

TEST(NetworkCards, AreOfImages) {
    const auto graph = [](int64_t in, int64_t out, int64_t depth = 1) {
        GraphBuilder net;
        size_t x = net.input(in);
        for (int64_t i = 0; i < depth; ++i) x = net.convolve(x, out, {.weights = "layer" + std::to_string(i)});
        return net.graph();
    };
    EXPECT_EQ(card_of(graph(1, 1)).sigma, SigmaInput::none);
    for (const auto& [in, out] : {std::pair{3, 1}, {1, 3}, {2, 2}, {5, 3}, {3, 2}})
        EXPECT_THROW((void)card_of(graph(in, out)), UsageError) << in << " to " << out;
    EXPECT_THROW((void)card_of(graph(3, 3, 9000)), UsageError) << "it sees 9000 px";
}

}  // namespace
}  // namespace pb::network
