#include "patchbench/network/dncnn.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph_builder.hpp"

#include <fmt/format.h>

namespace pb::network {

namespace {

constexpr double kGainOfResidual = 0.1;  // a denoiser changes its input little

}  // namespace

Graph dncnn(const DncnnShape& shape) {
    const auto& [channels, depth, width, residual] = shape;
    require(depth >= 2, fmt::format("network: a dncnn of depth {}: it has at least 2 convolutions", depth));
    GraphBuilder net;
    const size_t image = net.input(channels);
    size_t x = net.relu(net.convolve(image, width, {.weights = "in_conv", .has_bias = true}));
    for (int64_t i = 0; i < depth - 2; ++i)
        x = net.relu(net.convolve(x, width, {.weights = fmt::format("conv_list.{}", i), .has_bias = true}));
    x = net.convolve(x, channels, {.weights = "out_conv", .has_bias = true, .gain = kGainOfResidual});
    if (residual == DncnnResidual::add) net.add(x, image);
    if (residual == DncnnResidual::subtract) net.subtract(image, x);
    return net.graph();
}

}  // namespace pb::network
