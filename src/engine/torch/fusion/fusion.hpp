// Runs the layers of a network fused where a plan was found and shown to be right, and says where not.
#pragma once

#include "engine/torch/fusion/fused_layer.hpp"

#include <map>
#include <optional>
#include <string>

namespace pb::torch_engine {

struct Layer;

/// Of one denoiser. A layer met for the first time in a shape, in Denoiser::prepare, is looked for among the plans and
/// run on random values beside the unfused one. A plan that is not there, that deviates, or that memory is too small to
/// check is not used: from then on the caller is told to compute the layer unfused.
class Fusion {
  public:
    Fusion(std::unique_ptr<FusedPlans> plans, Precision precision, Layout layout);

    /// relu(layer(x)); nothing where the caller must compute it.
    [[nodiscard]] std::optional<at::Tensor> relu(const at::Tensor& x, const Layer& layer);

    /// kept + layer(x); nothing where the caller must compute it.
    [[nodiscard]] std::optional<at::Tensor> add(const at::Tensor& kept, const at::Tensor& x, const Layer& layer);

    /// sum += layer(x); false where the caller must compute it.
    [[nodiscard]] bool add_onto(at::Tensor& sum, const at::Tensor& x, const Layer& layer);

    /// Which layers ran unfused, and why; empty when none did.
    [[nodiscard]] std::string remark() const;

  private:
    [[nodiscard]] bool is_dense(const at::Tensor& map) const;
    [[nodiscard]] FusedLayer describe(const at::Tensor& x, const Layer& layer) const;
    /// Null where there is none.
    [[nodiscard]] FusedPlan* plan_for(const FusedLayer& fused, const at::TensorOptions& options);
    [[nodiscard]] FusedOffer find_checked(const FusedLayer& fused, const at::TensorOptions& options);
    [[nodiscard]] std::optional<at::Tensor> compute(const FusedLayer& fused, const at::Tensor& x, const Layer& layer,
                                                    const at::Tensor& residual);
    [[nodiscard]] at::Tensor bias_of(const Layer& layer);

    std::unique_ptr<FusedPlans> plans_;
    Precision precision_;
    Layout layout_;
    std::map<FusedLayer, FusedOffer> offers_;
    std::map<int64_t, at::Tensor> no_bias_;  // zeros, by their number
};

}  // namespace pb::torch_engine
