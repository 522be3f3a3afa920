#include "patchbench/network/drunet.hpp"

#include "network/graph_facts.hpp"
#include "network/key_layout.hpp"
#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::network {

namespace {

/// Keeps 24 residual sums within the range of fp16.
constexpr double kGainOfSummand = 0.5;

/// Blocks x + second(relu(first(x))), numbered from `first`.
size_t residual_blocks(GraphBuilder& net, size_t x, const std::string& module, int64_t first, int64_t blocks,
                       int64_t width) {
    for (int64_t i = first; i < first + blocks; ++i) {
        const std::string block = fmt::format("{}.{}.res.", module, i);
        const size_t inner = net.relu(net.convolve(x, width, {.weights = block + "0"}));
        x = net.add(x, net.convolve(inner, width, {.weights = block + "2", .gain = kGainOfSummand}));
    }
    return x;
}

}  // namespace

Graph DrunetShape::graph() const {
    require(!widths.empty(), "network: a drunet without widths");
    require(blocks >= 1, fmt::format("network: a drunet of {} residual blocks a scale: it has at least 1", blocks));
    const size_t lowest = widths.size() - 1;
    GraphBuilder net;
    std::vector<size_t> skips{net.convolve(net.input(channels + 1), widths[0], {.weights = "m_head"})};
    for (size_t scale = 0; scale < lowest; ++scale) {
        const std::string down = fmt::format("m_down{}", scale + 1);
        const size_t x = residual_blocks(net, skips.back(), down, 0, blocks, widths[scale]);
        const Filter halving{.weights = fmt::format("{}.{}", down, blocks), .kernel = 2, .stride = 2};
        skips.push_back(net.convolve(x, widths[scale + 1], halving));
    }
    size_t x = residual_blocks(net, skips.back(), "m_body", 0, blocks, widths[lowest]);
    for (size_t scale = lowest; scale-- > 0;) {
        const std::string up = fmt::format("m_up{}", scale + 1);
        x = net.convolve_transposed(net.add(x, skips[scale + 1]), widths[scale], up + ".0");
        x = residual_blocks(net, x, up, 1, blocks, widths[scale]);
    }
    net.convolve(net.add(x, skips[0]), channels, {.weights = "m_tail"});
    return net.graph();
}

std::vector<KeyLayout> DrunetShape::layouts(const CheckpointTensors& tensors) const {
    constexpr int64_t kMostBlocks = 1000, kMostScales = 8;
    DrunetShape found = *this;
    const auto has_block = [&](int64_t i) {  // one of its two may be what the file lacks
        return tensors.has(fmt::format("m_body.{}.res.0", i)) || tensors.has(fmt::format("m_body.{}.res.2", i));
    };
    if (!has_block(0)) return canonical_layouts("drunet", *this, found);
    found.blocks = 1;
    while (found.blocks < kMostBlocks && has_block(found.blocks)) ++found.blocks;
    found.widths = {tensors.channels_made("m_head", tensors.channels_made("m_down1.0.res.0", widths.front()))};
    for (int64_t scale = 1; scale < kMostScales; ++scale) {
        const std::string halving = fmt::format("m_down{}.{}", scale, found.blocks);
        const std::string doubling = fmt::format("m_up{}.0", scale);  // transposed: its first size is that of its input
        if (!tensors.has(halving) && !tensors.has(doubling)) break;
        found.widths.push_back(tensors.channels_made(halving, tensors.channels_made(doubling, 1)));
    }
    return canonical_layouts("drunet", *this, found);
}

/// Each block has two convolutions. At the lowest scale there is one more, with stride 2; a network of one scale has
/// its first and its last convolution instead.
DrunetShape DrunetShape::size_in(const Graph& graph) {
    const int64_t lowest = alignment_of(graph);
    const int64_t there =
        std::ranges::count_if(convolutions_of(graph), [&](size_t i) { return graph.shape(i).scale == lowest; });
    const int64_t others = lowest > 1 ? 1 : 2;
    return {graph.channels_out(), widths_in(graph), std::max<int64_t>(1, (there - others) / 2)};
}

}  // namespace pb::network
