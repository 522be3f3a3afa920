// What a fused layer computes, and the interface of a library that computes it. Independent of cuDNN.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/shape.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

namespace pb::engine::torch_engine {

/// y = convolution(x) [+ residual] + bias, then [ReLU]: one kernel instead of two or three, for one shape. Also the
/// key of its plan.
struct FusedLayer {
    Shape in;  // n, c, h, w of x
    int64_t out_channels = 0;
    int64_t kernel = 3;
    int64_t stride = 1;
    int64_t padding = 1;
    bool residual = false;
    bool relu = false;
    Precision precision = Precision::fp32;
    Layout layout = Layout::channels_last;

    [[nodiscard]] Shape out() const;

    /// "conv3x3+bias+relu_64to64_4x256x256_bf16_channels_last", also the name of a file.
    [[nodiscard]] std::string name() const;

    friend auto operator<=>(const FusedLayer&, const FusedLayer&) = default;
};

/// Tensors of one call, dense in the layout of the layer. `residual` is undefined without one, and may be `y`.
struct FusedOperands {
    at::Tensor x, weight, bias, residual, y;
};

/// A way to compute one fused layer.
class FusedPlan {
  public:
    virtual ~FusedPlan() = default;
    /// Enqueues the layer on the current stream.
    virtual void run(const FusedOperands& operands) = 0;
};

/// A plan, or the reason why there is none.
struct FusedOffer {
    std::unique_ptr<FusedPlan> plan;
    std::string why_not;
};

/// A library that computes fused layers.
class FusedPlans {
  public:
    virtual ~FusedPlans() = default;
    /// May run several plans on `operands`, which overwrites y.
    [[nodiscard]] virtual FusedOffer find(const FusedLayer& layer, const FusedOperands& operands) = 0;
};

}  // namespace pb::engine::torch_engine
