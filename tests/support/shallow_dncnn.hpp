// Networks that take no time, for tests of what judges their output.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <algorithm>

namespace pb::test {

/// DnCNN of four layers.
inline engine::Weights shallow_dncnn() {
    engine::Weights weights = engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);
    weights.shape = network::DncnnShape{.depth = 4};
    std::erase_if(weights.convolutions, [](const auto& layer) {
        return layer.first.starts_with("conv_list.") && layer.first != "conv_list.0" && layer.first != "conv_list.1";
    });
    return weights;
}

/// Finite weights: `to` where a sample of the first channel is above 0.9, which is beyond all floats, else almost the
/// input.
inline engine::Weights overflowing_dncnn(float to) {
    engine::Weights weights = shallow_dncnn();
    for (auto& [name, layer] : weights.convolutions) {
        const auto centre = static_cast<size_t>(layer.kernel * layer.kernel / 2);
        std::ranges::fill(layer.weight, 0.F);
        layer.bias.assign(static_cast<size_t>(layer.out_channels), 0.F);
        layer.weight[centre] = name == "in_conv" ? 1.F : 1e30F;
    }
    weights.convolutions["in_conv"].bias.front() = -0.9F;
    auto& last = weights.convolutions["out_conv"];
    last.weight[static_cast<size_t>(last.kernel * last.kernel / 2)] = to;
    last.bias.assign(last.bias.size(), 0.01F);
    return weights;
}

}  // namespace pb::test
