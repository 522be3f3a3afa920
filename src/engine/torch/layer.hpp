// One convolution of a network on LibTorch, and the three ways the networks apply it. The only place that knows how a
// convolution reaches oneDNN or cuDNN.
#pragma once

#include "engine/torch/placement.hpp"

#include "patchbench/engine/weights.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::torch_engine {

struct Layer {
    at::Tensor weight;             // undefined where there are taps
    std::vector<at::Tensor> taps;  // of a transposed convolution on the CPU, see Note [Transposed by taps]
    std::optional<at::Tensor> bias;
    std::vector<int64_t> stride;
    std::vector<int64_t> padding;
    bool transposed = false;
    std::shared_ptr<Fusion> fusion;  // null where layers run unfused
};

/// Whether oneDNN convolves bf16 on this processor by itself; see Note [bf16 without bf16 arithmetic].
[[nodiscard]] bool processor_has_bf16();

/// Copies `convolution` to its place. 3x3 kernels are padded by one pixel of zeros, others not at all.
[[nodiscard]] Layer make_layer(const Convolution& convolution, const Placement& placement);

[[nodiscard]] at::Tensor convolve(const at::Tensor& x, const Layer& layer);
[[nodiscard]] at::Tensor convolve_relu(const at::Tensor& x, const Layer& layer);

/// kept + layer(x).
[[nodiscard]] at::Tensor convolve_add(const at::Tensor& kept, const at::Tensor& x, const Layer& layer);

/// sum += layer(x), in place: no further map is allocated, but on CUDA where the layer is not fused.
void convolve_onto(at::Tensor& sum, const at::Tensor& x, const Layer& layer);

}  // namespace pb::torch_engine
