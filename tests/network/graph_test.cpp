#include "patchbench/network/graph.hpp"

#include "support/graph_text.hpp"
#include "support/messages.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gmock/gmock.h>

namespace pb::network {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Kind = OperationKind;

/// Why the graph is refused.
std::string refusal(std::vector<Operation> operations) {
    return error_of<Error>([&] { (void)Graph(std::move(operations)); });
}

Operation convolution(size_t x, Filter filter, int64_t channels = 4) {
    return {Kind::convolution, {x}, channels, std::move(filter)};
}

const Operation kInput{.kind = Kind::input, .channels = 4};
const Operation kPool{.kind = Kind::max_pool, .operands = {0}};

TEST(Graph, SaysWhatItIs) {
    GraphBuilder net;
    const size_t image = net.input(3);
    const size_t half = net.relu(net.convolve(image, 8, {.weights = "a", .has_bias = true, .norm = "b"}));
    const size_t pooled = net.max_pool(half);
    const size_t x = net.convolve(half, 8, {.weights = "c", .kernel = 2, .stride = 2});
    const size_t doubled = net.upsample(pooled);
    const size_t joined = net.concatenate(doubled, net.convolve_transposed(x, 4, "d"));
    net.subtract(image, net.convolve(joined, 3, {.weights = "e", .kernel = 1}));
    EXPECT_EQ(to_text(net.graph()),
              "0 input: 3 channels at scale 1\n"
              "1 convolution 'a' 3x3 bias norm 'b' of 0: 8 channels at scale 1\n"
              "2 relu of 1: 8 channels at scale 1\n"
              "3 max_pool of 2: 8 channels at scale 2\n"
              "4 convolution 'c' 2x2 stride 2 of 2: 8 channels at scale 2\n"
              "5 upsample of 3: 8 channels at scale 1\n"
              "6 transposed_convolution 'd' 2x2 stride 2 of 4: 4 channels at scale 1\n"
              "7 concatenate of 5, 6: 12 channels at scale 1\n"
              "8 convolution 'e' 1x1 of 7: 3 channels at scale 1\n"
              "9 subtract of 0, 8: 3 channels at scale 1\n");
}

TEST(Graph, IsEqualWhereEveryOperationIs) {
    EXPECT_EQ(DncnnShape{.depth = 3}.graph(), DncnnShape{.depth = 3}.graph());
    EXPECT_NE(DncnnShape{.depth = 3}.graph(), DncnnShape{.depth = 4}.graph());
    EXPECT_NE(DncnnShape{.residual = DncnnResidual::add}.graph(),
              DncnnShape{.residual = DncnnResidual::subtract}.graph());
    EXPECT_NE(DncnnShape{.width = 64}.graph(), DncnnShape{.width = 65}.graph());
    const auto with = [](const Filter& filter) { return Graph({kInput, convolution(0, filter)}); };
    EXPECT_NE(with({.weights = "a"}), with({.weights = "b"}));
    EXPECT_NE(with({.weights = "a"}), with({.weights = "a", .kernel = 1}));
    EXPECT_NE(with({.weights = "a"}), with({.weights = "a", .has_bias = true}));
    EXPECT_NE(with({.weights = "a"}), with({.weights = "a", .norm = "n"}));
}

TEST(Graph, RefusesOperandsThatAreNotThere) {
    const auto add = [](std::vector<size_t> operands) { return Operation{.kind = Kind::add, .operands = operands}; };
    EXPECT_EQ(refusal({kInput, add({0, 1})}), "network: operation 1 (add): its operand 1 is no earlier operation");
    EXPECT_EQ(refusal({kInput, add({0})}), "network: operation 1 (add): has 1 operands and takes 2");
    EXPECT_EQ(refusal({kInput, {.kind = Kind::concatenate, .operands = {0}}}),
              "network: operation 1 (concatenate): has 1 operands and takes at least 2");
    EXPECT_THAT(refusal({{.kind = Kind::relu}}), StartsWith("network: operation 0 (relu): has 0 operands and takes 1"));
    EXPECT_EQ(refusal({kInput, kInput, add({0, 1})}), "network: operation 1 (input): operation 0 is the only input");
    EXPECT_EQ(refusal({kInput}), "network: operation 0 (input): the graph computes nothing");
    EXPECT_EQ(refusal({}), "network: a graph without operations");
    EXPECT_EQ(refusal({kInput, add({0, 0}), add({0, 0})}),
              "network: operation 1 (add): no operation uses its map, and only the last one is the output");
    EXPECT_EQ(refusal({kInput, add({0, 0})}), kNotThrown);
}

TEST(Graph, RefusesOperandsThatDoNotFitEachOther) {
    const Operation wide = convolution(0, {.weights = "w"}, 5);
    for (const Kind kind : {Kind::add, Kind::subtract}) {
        EXPECT_THAT(refusal({kInput, wide, {.kind = kind, .operands = {0, 1}}}),
                    HasSubstr("): its operands have 4 and 5 channels"));
        EXPECT_THAT(refusal({kInput, kPool, {.kind = kind, .operands = {0, 1}}}),
                    HasSubstr("): its operands have the scales 1 and 2"));
    }
    EXPECT_EQ(refusal({kInput, kPool, {.kind = Kind::concatenate, .operands = {0, 1}}}),
              "network: operation 2 (concatenate): its operands have the scales 1 and 2");
    EXPECT_EQ(refusal({kInput, wide, {.kind = Kind::concatenate, .operands = {0, 1}}}), kNotThrown);
    EXPECT_EQ(refusal({kInput, {.kind = Kind::upsample, .operands = {0}}}),
              "network: operation 1 (upsample): doubles a map that has the extents of the input already");
    EXPECT_EQ(refusal({kInput, kPool}),
              "network: operation 1 (max_pool): the output has scale 2: it must have that of the input");
    std::vector<Operation> deep{kInput};
    for (size_t i = 0; i < 11; ++i) deep.push_back({.kind = Kind::max_pool, .operands = {i}});
    EXPECT_EQ(refusal(deep), "network: operation 11 (max_pool): its scale is 2048: 1024 is the largest");
}

TEST(Graph, RefusesFiltersThatItDoesNotHave) {
    const auto refused = [](const Filter& filter) { return refusal({kInput, convolution(0, filter)}); };
    const std::string which = "network: operation 1 (convolution 'w'): ";
    for (const auto& [kernel, stride] : {std::pair(2, 1), {4, 1}, {3, 3}, {3, 0}, {0, 1}, {5, 2}})
        EXPECT_EQ(refused({.weights = "w", .kernel = kernel, .stride = stride}),
                  which + "a kernel of " + std::to_string(kernel) + " with stride " + std::to_string(stride) +
                      ": there are 1 and 3 with stride 1 or 2, and 2 with stride 2");
    EXPECT_THAT(refused({.weights = ""}), HasSubstr("its weights have no name"));
    EXPECT_EQ(
        refusal({kInput, kPool, {Kind::transposed_convolution, {1}, 4, Filter{.weights = "t"}}}),
        "network: operation 2 (transposed_convolution 't'): a kernel of 3 with stride 1: there is 2 with stride 2 "
        "only");
    EXPECT_EQ(refusal({kInput, convolution(0, {.weights = "w"}), convolution(1, {.weights = "w"})}),
              "network: operation 2 (convolution 'w'): operation 1 has these weights already");
    EXPECT_EQ(refusal({kInput, {.kind = Kind::convolution, .operands = {0}, .channels = 4}}),
              "network: operation 1 (convolution): has no filter");
    EXPECT_EQ(refusal({kInput, {Kind::relu, {0}, 0, Filter{.weights = "w"}}}),
              "network: operation 1 (relu 'w'): takes no filter");
    EXPECT_EQ(refusal({kInput, {.kind = Kind::relu, .operands = {0}, .channels = 4}}),
              "network: operation 1 (relu): takes its channels from its operands");
    for (const int64_t channels : {int64_t{0}, int64_t{-1}, (int64_t{1} << 20) + 1})
        EXPECT_EQ(refusal({kInput, convolution(0, {.weights = "w"}, channels)}),
                  which + std::to_string(channels) + " channels: there must be 1 to 1048576");
    const Graph widest({kInput, convolution(0, {.weights = "w"}, int64_t{1} << 20)});
    EXPECT_EQ(widest.channels_out(), 1 << 20);
}

TEST(Graph, RefusesShapesThatAreNoNetwork) {
    EXPECT_THROW((void)DrunetShape{.widths = {}}.graph(), Error);
    EXPECT_THROW((void)DrunetShape{.blocks = 0}.graph(), Error);
    EXPECT_THROW((void)UnetShape{.widths = {}}.graph(), Error);
    EXPECT_THROW((void)DncnnShape{.depth = 1}.graph(), Error);
    EXPECT_THROW((void)DncnnShape{.width = 0}.graph(), Error);
    EXPECT_THROW((void)UnetShape{.channels = 0}.graph(), Error);
}

}  // namespace
}  // namespace pb::network
