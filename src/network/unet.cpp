#include "patchbench/network/unet.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph_builder.hpp"

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

Graph unet(const UnetShape& shape) {
    const auto& [channels, widths] = shape;
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

}  // namespace pb::network
