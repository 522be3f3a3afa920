// What is derived from the graphs against the tables of base, and the relatives of the three networks.
#include "patchbench/network/facts.hpp"

#include "unit/network/standard_graphs.hpp"

#include "patchbench/network/receptive_field.hpp"

#include <gmock/gmock.h>

namespace pb {
namespace {

using test::kKinds;
using test::standard_graph;

TEST(NetworkGraphs, HaveTheFactsOfTheTables) {
    for (const NetworkKind kind : kKinds)
        for (const int64_t channels : {1, 3}) {
            SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(channels));
            const Graph graph = standard_graph(kind, channels);
            const NetworkFacts& facts = network_facts(kind);
            EXPECT_EQ(alignment_of(graph), facts.alignment);
            EXPECT_EQ(receptive_radius_of(graph), facts.receptive_radius);
            EXPECT_EQ(exact_halo_of(graph), facts.exact_halo);
            EXPECT_EQ(takes_sigma(graph), facts.takes_sigma);
            EXPECT_EQ(parameters_of(graph), channels == 1 ? facts.parameters_gray : facts.parameters_colour);
            EXPECT_EQ(mac_per_pixel(graph), static_cast<double>(mac_per_pixel(kind, channels)));
            EXPECT_EQ(values_moved_per_pixel(graph), static_cast<double>(values_moved_per_pixel(kind, channels)));
            EXPECT_EQ(num_convolutions(graph), facts.num_convolutions);
            EXPECT_EQ(widest_map_of(graph), static_cast<double>(facts.widest_map));
            EXPECT_EQ(graph.channels_out(), channels);
        }
}

TEST(NetworkGraphs, SayWhatACheckpointMustHave) {
    const auto conv = [](int64_t out, int64_t in, int64_t kernel = 3) { return TensorShapes{out, in, kernel}; };
    EXPECT_EQ(checkpoint_shapes(drunet({.channels = 3, .widths = {16, 32}, .blocks = 1})),
              (std::map<std::string, TensorShapes>{{"m_head", conv(16, 4)},
                                                   {"m_down1.0.res.0", conv(16, 16)},
                                                   {"m_down1.0.res.2", conv(16, 16)},
                                                   {"m_down1.1", conv(32, 16, 2)},
                                                   {"m_body.0.res.0", conv(32, 32)},
                                                   {"m_body.0.res.2", conv(32, 32)},
                                                   {"m_up1.0", {16, 32, 2, true}},
                                                   {"m_up1.1.res.0", conv(16, 16)},
                                                   {"m_up1.1.res.2", conv(16, 16)},
                                                   {"m_tail", conv(3, 16)}}));
    const auto normed = [](int64_t out, int64_t in, std::string norm) {
        return TensorShapes{out, in, 3, false, true, std::move(norm)};
    };
    EXPECT_EQ(checkpoint_shapes(unet({.channels = 1, .widths = {8, 20}})),
              (std::map<std::string, TensorShapes>{{"Conv1.0", normed(8, 1, "Conv1.1")},
                                                   {"Conv1.3", normed(8, 8, "Conv1.4")},
                                                   {"Conv2.0", normed(20, 8, "Conv2.1")},
                                                   {"Conv2.3", normed(20, 20, "Conv2.4")},
                                                   {"Up2.1", normed(8, 20, "Up2.2")},
                                                   {"Up_conv2.0", normed(8, 16, "Up_conv2.1")},
                                                   {"Up_conv2.3", normed(8, 8, "Up_conv2.4")},
                                                   {"Conv_1x1", {1, 8, 1, false, true}}}));
    EXPECT_EQ(checkpoint_shapes(dncnn({.channels = 1, .depth = 4, .width = 6})),
              (std::map<std::string, TensorShapes>{{"in_conv", {6, 1, 3, false, true}},
                                                   {"conv_list.0", {6, 6, 3, false, true}},
                                                   {"conv_list.1", {6, 6, 3, false, true}},
                                                   {"out_conv", {1, 6, 3, false, true}}}));
}

TEST(NetworkGraphs, NameTheirWeightsAsTheCheckpointsDo) {
    const auto shapes = checkpoint_shapes(drunet({}));
    EXPECT_EQ(shapes.size(), 64U);
    for (const char* name : {"m_down3.3.res.2", "m_down3.4", "m_body.3.res.0", "m_up3.0", "m_up2.4.res.2", "m_tail"})
        EXPECT_EQ(shapes.count(name), 1U) << name;
    EXPECT_EQ(checkpoint_shapes(unet({})).count("Up_conv4.3"), 1U);
    EXPECT_EQ(checkpoint_shapes(dncnn({})).count("conv_list.17"), 1U);
}

TEST(NetworkGraphs, OfOtherWidthsAndDepthsFollowTheirArithmetic) {
    for (int64_t depth = 2; depth <= 30; ++depth) {
        const Graph graph = dncnn({.channels = 1, .depth = depth, .width = 16});
        EXPECT_EQ(num_convolutions(graph), depth);
        EXPECT_EQ(receptive_radius_of(graph), depth);
        EXPECT_EQ(exact_halo_of(graph), depth);
        EXPECT_EQ(parameters_of(graph), 2 * 9 * 16 + 16 + 1 + (depth - 2) * (16 * 16 * 9 + 16));
    }
    const Graph kair = dncnn({.channels = 1, .depth = 17, .residual = DncnnResidual::subtract});
    EXPECT_EQ(parameters_of(kair), 555'137);  // as it was published
    EXPECT_EQ(mac_per_pixel(kair), 554'112);
    EXPECT_EQ(values_moved_per_pixel(kair), 15 * 128 + 2 * 65 + 1);
    const std::vector<int64_t> widths{32, 64, 128, 256, 512};
    for (size_t scales = 2; scales <= 5; ++scales) {
        const Graph graph = unet({.widths = {widths.begin(), widths.begin() + static_cast<int64_t>(scales)}});
        EXPECT_EQ(alignment_of(graph), int64_t{1} << (scales - 1));
        EXPECT_EQ(num_convolutions(graph), static_cast<int64_t>(5 * scales - 2));
    }
    // Half the widths: a quarter of the products, but for head and tail, which have half of them.
    const double ends = 9 * (4 + 3) * 64;
    EXPECT_EQ(mac_per_pixel(drunet({.widths = {32, 64, 128, 256}})), (mac_per_pixel(drunet({})) - ends) / 4 + ends / 2);
    EXPECT_EQ(num_convolutions(drunet({.widths = {16, 32, 64}, .blocks = 2})), 2 + 5 * 4 + 4);
}

TEST(NetworkGraphs, EndAsTheirCheckpointsWereTrained) {
    const auto last = [](DncnnResidual residual) {
        const Graph graph = dncnn({.depth = 2, .residual = residual});
        return graph[graph.output()];
    };
    EXPECT_EQ(last(DncnnResidual::none).kind, OperationKind::convolution);
    EXPECT_EQ(last(DncnnResidual::add), (Operation{.kind = OperationKind::add, .operands = {3, 0}}));
    EXPECT_EQ(last(DncnnResidual::subtract), (Operation{.kind = OperationKind::subtract, .operands = {0, 3}}));
}

}  // namespace
}  // namespace pb
