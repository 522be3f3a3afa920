// One convolution of a network in LibTorch, and the three ways in which networks apply it. No other file calls oneDNN
// or cuDNN for a convolution.
#pragma once

#include "engine/torch/tensors.hpp"

#include "patchbench/engine/weights.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

struct Layer {
    at::Tensor weight;             // undefined when there are taps
    std::vector<at::Tensor> taps;  // for a transposed convolution on the CPU, see Note [Transposed by taps]
    std::optional<at::Tensor> bias;
    std::vector<int64_t> stride;
    std::vector<int64_t> padding;
    bool transposed = false;
    std::shared_ptr<Fusion> fusion;  // null when layers run unfused
};

/// Whether oneDNN has a bf16 convolution for this processor; see Note [bf16 without bf16 arithmetic].
[[nodiscard]] bool processor_has_bf16();

/// Copies `convolution` to the device and type of `placement`. 3x3 kernels are padded by one pixel of zeros, others not
/// at all.
[[nodiscard]] Layer make_layer(const Convolution& convolution, const Placement& placement);

[[nodiscard]] at::Tensor convolve(const at::Tensor& x, const Layer& layer);
[[nodiscard]] at::Tensor convolve_relu(const at::Tensor& x, const Layer& layer);

/// kept + layer(x).
[[nodiscard]] at::Tensor convolve_add(const at::Tensor& kept, const at::Tensor& x, const Layer& layer);

/// sum += layer(x), in place. Allocates another map only on CUDA when the layer is not fused.
void convolve_onto(at::Tensor& sum, const at::Tensor& x, const Layer& layer);

}  // namespace pb::engine::torch_engine
