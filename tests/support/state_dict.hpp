// Weights as a state dict of deepinv, which its Python loads with strict=True: for files of weights that tests write.
#pragma once

#include "network/graph_facts.hpp"
#include "support/checkpoint_files.hpp"

#include "patchbench/engine/weights.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pb::test {

/// y = (x - 0) / sqrt((1 - eps) + eps) * 1 + 0 with PyTorch's eps of 1e-5.
inline void add_identity_norm(engine::StateDict& tensors, const std::string& key, int64_t channels) {
    const auto filled = [&](float value) {
        return engine::NamedTensor{{channels}, std::vector<float>(static_cast<size_t>(channels), value)};
    };
    tensors[key + ".weight"] = filled(1.0F);
    tensors[key + ".bias"] = filled(0.0F);
    tensors[key + ".running_mean"] = filled(0.0F);
    tensors[key + ".running_var"] = filled(static_cast<float>(1.0 - 1e-5));
    tensors[key + ".num_batches_tracked"] = {{}, {0.0F}};
}

/// deepinv's DnCNN adds its last convolution to the input: one that is subtracted (KAIR) changes its sign. Its name;
/// empty: none is.
inline std::string negated_convolution(const network::NetworkShape& shape, const network::Graph& graph) {
    const auto* dncnn = std::get_if<network::DncnnShape>(&shape);
    if (dncnn == nullptr || dncnn->residual != network::DncnnResidual::subtract) return "";
    return graph[graph[graph.output()].operands.back()].filter.value().weights;
}

/// Batch norm of UNet is the identity.
inline engine::StateDict to_state_dict(const engine::Weights& weights) {
    engine::StateDict tensors;
    const network::Graph graph = network::graph_of(weights.shape);
    const std::string negated = negated_convolution(weights.shape, graph);
    for (const auto& [name, shapes] : network::checkpoint_shapes(graph)) {
        engine::Convolution convolution = weights.convolution(name);
        if (name == negated)
            for (auto* values : {&convolution.weight, &convolution.bias})
                for (float& value : *values) value = -value;
        // Some layouts have no biases; deepinv's network always has them.
        if (shapes.has_bias) convolution.bias.resize(static_cast<size_t>(shapes.out_channels), 0.0F);
        tensors[name + ".weight"] = {shapes.weight_shape(), std::move(convolution.weight)};
        if (shapes.has_bias) tensors[name + ".bias"] = {{shapes.out_channels}, std::move(convolution.bias)};
        if (!shapes.norm.empty()) add_identity_norm(tensors, shapes.norm, shapes.out_channels);
    }
    return tensors;
}

/// `metadata` needs no escapes.
inline void save_weights(const engine::Weights& weights, const std::filesystem::path& file,
                         const std::map<std::string, std::string>& metadata = {}) {
    engine::save_safetensors(to_state_dict(weights), file, metadata);
}

}  // namespace pb::test
