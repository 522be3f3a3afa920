#include "patchbench/network/unet.hpp"

#include "network/graph_facts.hpp"
#include "network/key_layout.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"

#include <fmt/format.h>

namespace pb::network {

namespace {

/// Convolution with bias, batch norm, ReLU: elements `index`, `index` + 1 and `index` + 2 of the module.
size_t convolve(GraphBuilder& net, size_t x, int64_t width, const std::string& module, int64_t index) {
    return net.relu(net.convolve(x, width,
                                 {.weights = fmt::format("{}.{}", module, index),
                                  .has_bias = true,
                                  .norm = fmt::format("{}.{}", module, index + 1)}));
}

size_t block(GraphBuilder& net, size_t x, int64_t width, const std::string& module) {
    return convolve(net, convolve(net, x, width, module, 0), width, module, 3);
}

}  // namespace

Graph UnetShape::graph() const {
    require(!widths.empty(), "network: a unet without widths");
    GraphBuilder net;
    const size_t image = net.input(channels);
    std::vector<size_t> encoded{block(net, image, widths[0], "Conv1")};
    for (size_t scale = 1; scale < widths.size(); ++scale)
        encoded.push_back(block(net, net.max_pool(encoded.back()), widths[scale], fmt::format("Conv{}", scale + 1)));
    size_t x = encoded.back();
    for (size_t scale = widths.size() - 1; scale-- > 0;) {
        x = convolve(net, net.upsample(x), widths[scale], fmt::format("Up{}", scale + 2), 1);
        x = block(net, net.concatenate(encoded[scale], x), widths[scale], fmt::format("Up_conv{}", scale + 2));
    }
    net.add(net.convolve(x, channels, {.weights = "Conv_1x1", .kernel = 1, .has_bias = true}), image);
    return net.graph();
}

std::vector<KeyLayout> UnetShape::layouts(const CheckpointTensors& tensors) const {
    constexpr int64_t kMostScales = 8;
    UnetShape found{channels, {}};
    for (int64_t scale = 1; scale <= kMostScales; ++scale) {
        const std::string first = fmt::format("Conv{}.0", scale), second = fmt::format("Conv{}.3", scale);
        if (!tensors.has(first) && !tensors.has(second)) break;
        found.widths.push_back(tensors.channels_made(first, tensors.channels_made(second, 1)));
    }
    return canonical_layouts("unet (batch norm folded)", *this, found.widths.empty() ? *this : found);
}

UnetShape UnetShape::size_in(const Graph& graph) { return {graph.channels_out(), widths_in(graph)}; }

}  // namespace pb::network
