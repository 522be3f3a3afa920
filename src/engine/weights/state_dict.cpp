#include "network/graph_facts.hpp"

#include "patchbench/engine/weights.hpp"

#include <algorithm>
#include <functional>

namespace pb::engine {
namespace {

// y = (x - 0) / sqrt((1 - eps) + eps) * 1 + 0 with PyTorch's eps of 1e-5.
void add_identity_norm(StateDict& tensors, const std::string& key, int64_t channels) {
    const auto filled = [&](float value) {
        return NamedTensor{{channels}, std::vector<float>(static_cast<size_t>(channels), value)};
    };
    tensors[key + ".weight"] = filled(1.0f);
    tensors[key + ".bias"] = filled(0.0f);
    tensors[key + ".running_mean"] = filled(0.0f);
    tensors[key + ".running_var"] = filled(static_cast<float>(1.0 - 1e-5));
    tensors[key + ".num_batches_tracked"] = {{}, {0.0f}};
}

void negate(std::vector<float>& values) { std::transform(values.begin(), values.end(), values.begin(), std::negate()); }

/// deepinv's DnCNN, whose layout is written, adds its last convolution to the input: one that is subtracted changes its
/// sign. Its name; empty: none is.
std::string negated_convolution(const network::NetworkShape& shape, const network::Graph& graph) {
    const auto* dncnn = std::get_if<network::DncnnShape>(&shape);
    if (dncnn == nullptr || dncnn->residual != network::DncnnResidual::subtract) return "";
    return graph[graph[graph.output()].operands.back()].filter.value().weights;
}

}  // namespace

StateDict to_state_dict(const Weights& weights) {
    StateDict tensors;
    const network::Graph graph = network::graph_of(weights.shape);
    const std::string negated = negated_convolution(weights.shape, graph);
    for (const auto& [name, shapes] : network::checkpoint_shapes(graph)) {
        Convolution convolution = weights.convolution(name);
        if (name == negated) {
            negate(convolution.weight);
            negate(convolution.bias);
        }
        // Some layouts have no biases; deepinv's network always has them.
        if (shapes.has_bias) convolution.bias.resize(static_cast<size_t>(shapes.out_channels), 0.0f);
        tensors[name + ".weight"] = {shapes.weight_shape(), std::move(convolution.weight)};
        if (shapes.has_bias) tensors[name + ".bias"] = {{shapes.out_channels}, std::move(convolution.bias)};
        if (!shapes.norm.empty()) add_identity_norm(tensors, shapes.norm, shapes.out_channels);
    }
    return tensors;
}

}  // namespace pb::engine
