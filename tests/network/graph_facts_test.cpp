// What is derived from the graphs, for the three networks and their relatives.
#include "network/graph_facts.hpp"

#include "network/receptive_field.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>

namespace pb::network {
namespace {

/// As they were counted by hand and measured before any graph was there.
// One of each network.
TEST(NetworkFactsOf, TheStandardNetworksAreTheirPublications) {
    const auto expect = [](const NetworkFacts& facts, int64_t alignment, int64_t radius, int64_t halo, bool takes_sigma,
                           int64_t convolutions, double widest) {
        SCOPED_TRACE(std::string(name_of(facts.kind)));
        EXPECT_EQ(facts.alignment, alignment);
        EXPECT_EQ(facts.receptive_radius, radius);
        EXPECT_EQ(facts.exact_halo, halo);
        EXPECT_EQ(facts.takes_sigma, takes_sigma);
        EXPECT_EQ(facts.num_convolutions, convolutions);
        EXPECT_EQ(facts.widest_map, widest);
    };
    for (const int64_t channels : {1, 3}) {
        expect(network_facts(kind_of<DrunetShape>(), channels), 8, 185, 192, true, 64, 64);
        expect(network_facts(kind_of<UnetShape>(), channels), 8, 58, 56, false, 18, 128);
        expect(network_facts(kind_of<DncnnShape>(), channels), 1, 20, 20, false, 20, 64);
    }
}

// One of each network.
TEST(NetworkFactsOf, GrayAndColourCostWhatTheirChannelsDo) {
    const auto expect = [](NetworkKind kind, int64_t channels, int64_t parameters, double macs, double values) {
        SCOPED_TRACE(std::string(name_of(kind)));
        const NetworkFacts& facts = network_facts(kind, channels);
        EXPECT_EQ(facts.parameters, parameters);
        EXPECT_EQ(facts.mac_per_pixel, macs);
        EXPECT_EQ(facts.values_per_pixel, values);
        EXPECT_EQ(graph_of(standard_shape(kind, channels)).channels_out(), channels);
    };
    expect(kind_of<DrunetShape>(), 1, 32'638'656, 2'115'264, 5227);
    expect(kind_of<DrunetShape>(), 3, 32'640'960, 2'117'568, 5231);
    expect(kind_of<UnetShape>(), 1, 8'562'881, 756'352, 1351);
    expect(kind_of<UnetShape>(), 3, 8'564'163, 757'632, 1357);
    expect(kind_of<DncnnShape>(), 1, 665'921, 664'704, 2435);
    expect(kind_of<DncnnShape>(), 3, 668'227, 667'008, 2441);
}

TEST(NetworkGraphs, SayWhatACheckpointMustHave) {
    const auto conv = [](int64_t out, int64_t in) { return TensorShapes{{out, in, 3}, false}; };
    EXPECT_EQ(checkpoint_shapes(DrunetShape{.channels = 3, .widths = {16, 32}, .blocks = 1}.graph()),
              (std::map<std::string, TensorShapes>{{"m_head", conv(16, 4)},
                                                   {"m_down1.0.res.0", conv(16, 16)},
                                                   {"m_down1.0.res.2", conv(16, 16)},
                                                   {"m_down1.1", {{32, 16, 2, 2}, false}},
                                                   {"m_body.0.res.0", conv(32, 32)},
                                                   {"m_body.0.res.2", conv(32, 32)},
                                                   {"m_up1.0", {{16, 32, 2, 2, true}, false}},
                                                   {"m_up1.1.res.0", conv(16, 16)},
                                                   {"m_up1.1.res.2", conv(16, 16)},
                                                   {"m_tail", conv(3, 16)}}));
    const auto normed = [](int64_t out, int64_t in, std::string norm) {
        return TensorShapes{{out, in, 3}, true, std::move(norm)};
    };
    EXPECT_EQ(checkpoint_shapes(UnetShape{.channels = 1, .widths = {8, 20}}.graph()),
              (std::map<std::string, TensorShapes>{{"Conv1.0", normed(8, 1, "Conv1.1")},
                                                   {"Conv1.3", normed(8, 8, "Conv1.4")},
                                                   {"Conv2.0", normed(20, 8, "Conv2.1")},
                                                   {"Conv2.3", normed(20, 20, "Conv2.4")},
                                                   {"Up2.1", normed(8, 20, "Up2.2")},
                                                   {"Up_conv2.0", normed(8, 16, "Up_conv2.1")},
                                                   {"Up_conv2.3", normed(8, 8, "Up_conv2.4")},
                                                   {"Conv_1x1", {{1, 8, 1}, true}}}));
    EXPECT_EQ(checkpoint_shapes(DncnnShape{.channels = 1, .depth = 4, .width = 6}.graph()),
              (std::map<std::string, TensorShapes>{{"in_conv", {{6, 1, 3}, true}},
                                                   {"conv_list.0", {{6, 6, 3}, true}},
                                                   {"conv_list.1", {{6, 6, 3}, true}},
                                                   {"out_conv", {{1, 6, 3}, true}}}));
}

TEST(NetworkGraphs, NameTheirWeightsAsTheCheckpointsDo) {
    const auto shapes = checkpoint_shapes(DrunetShape{}.graph());
    EXPECT_EQ(shapes.size(), 64U);
    for (const char* name : {"m_down3.3.res.2", "m_down3.4", "m_body.3.res.0", "m_up3.0", "m_up2.4.res.2", "m_tail"})
        EXPECT_EQ(shapes.count(name), 1U) << name;
    EXPECT_EQ(checkpoint_shapes(UnetShape{}.graph()).count("Up_conv4.3"), 1U);
    EXPECT_EQ(checkpoint_shapes(DncnnShape{}.graph()).count("conv_list.17"), 1U);
}

TEST(NetworkGraphs, OfOtherWidthsAndDepthsFollowTheirArithmetic) {
    for (int64_t depth = 2; depth <= 30; ++depth) {
        const Graph graph = DncnnShape{.channels = 1, .depth = depth, .width = 16}.graph();
        EXPECT_EQ(num_convolutions(graph), depth);
        EXPECT_EQ(receptive_radius_of(graph), depth);
        EXPECT_EQ(exact_halo_of(graph), depth);
        EXPECT_EQ(parameters_of(graph), 2 * 9 * 16 + 16 + 1 + (depth - 2) * (16 * 16 * 9 + 16));
    }
    const Graph kair = DncnnShape{.channels = 1, .depth = 17, .residual = DncnnResidual::subtract}.graph();
    EXPECT_EQ(parameters_of(kair), 555'137);  // as it was published
    EXPECT_EQ(mac_per_pixel(kair), 554'112);
    EXPECT_EQ(values_moved_per_pixel(kair), 15 * 128 + 2 * 65 + 1);
    const std::vector<int64_t> widths{32, 64, 128, 256, 512};
    for (size_t scales = 2; scales <= 5; ++scales) {
        const Graph graph =
            UnetShape{.widths = {widths.begin(), widths.begin() + static_cast<int64_t>(scales)}}.graph();
        EXPECT_EQ(alignment_of(graph), int64_t{1} << (scales - 1));
        EXPECT_EQ(num_convolutions(graph), static_cast<int64_t>(5 * scales - 2));
    }
    // Half the widths: a quarter of the products, but for head and tail, which have half of them.
    const double ends = 9 * (4 + 3) * 64;
    EXPECT_EQ(mac_per_pixel(DrunetShape{.widths = {32, 64, 128, 256}}.graph()),
              (mac_per_pixel(DrunetShape{}.graph()) - ends) / 4 + ends / 2);
    EXPECT_EQ(num_convolutions(DrunetShape{.widths = {16, 32, 64}, .blocks = 2}.graph()), 2 + 5 * 4 + 4);
}

TEST(NetworkGraphs, EndAsTheirCheckpointsWereTrained) {
    const auto last = [](DncnnResidual residual) {
        const Graph graph = DncnnShape{.depth = 2, .residual = residual}.graph();
        return graph[graph.output()];
    };
    EXPECT_EQ(last(DncnnResidual::none).kind, OperationKind::convolution);
    EXPECT_EQ(last(DncnnResidual::add), (Operation{.kind = OperationKind::add, .operands = {3, 0}}));
    EXPECT_EQ(last(DncnnResidual::subtract), (Operation{.kind = OperationKind::subtract, .operands = {0, 3}}));
}

}  // namespace
}  // namespace pb::network
