// The three networks as functions over tensors: activations are local variables that are moved on as soon as they have
// served, so that the peak is what the arithmetic needs and nothing more.
#pragma once

#include "engine/torch/layer.hpp"

#include <functional>

namespace pb::torch_engine {

/// out = network(in); `out` is written in place. Call under InferenceMode.
using Network = std::function<void(const at::Tensor& in, at::Tensor& out)>;

[[nodiscard]] Network make_drunet(const Weights& weights, const Placement& placement);
[[nodiscard]] Network make_unet(const Weights& weights, const Placement& placement);
[[nodiscard]] Network make_dncnn(const Weights& weights, const Placement& placement);

/// The one that `weights.kind` says.
[[nodiscard]] Network make_network(const Weights& weights, const Placement& placement);

}  // namespace pb::torch_engine
