// Runs the layers of a network fused when a plan was found and checked, and reports the other layers.
#pragma once

#include "engine/torch/fusion/fused_plans.hpp"

#include <map>
#include <optional>
#include <string>

namespace pb::engine::torch_engine {

struct Layer;

/// Belongs to one denoiser. The first time that a layer occurs in a shape (in Denoiser::prepare), a plan is searched
/// and compared with the unfused layer on random values. The layer stays unfused when there is no plan, when the plan
/// deviates, or when memory is too small for the check: run() then leaves the work to the caller.
class Fusion {
  public:
    Fusion(std::unique_ptr<FusedPlans> plans, Precision precision, Layout layout);

    /// What follows a layer.
    struct Epilogue {
        at::Tensor residual;  // that is added; undefined: none
        bool relu = false;
    };

    /// layer(x) and what follows, into `y`, which may be the residual, or into a new tensor where it is undefined.
    /// Nullopt when the caller must compute it.
    [[nodiscard]] std::optional<at::Tensor> run(const at::Tensor& x, const Layer& layer, const Epilogue& then,
                                                at::Tensor y = {});

    /// Which layers ran unfused, and why; empty when none did.
    [[nodiscard]] std::string remark() const;

  private:
    [[nodiscard]] bool is_dense(const at::Tensor& map) const;
    [[nodiscard]] FusedLayer describe(const at::Tensor& x, const Layer& layer) const;
    /// Null when there is none.
    [[nodiscard]] FusedPlan* plan_for(const FusedLayer& fused, const at::TensorOptions& options);
    [[nodiscard]] FusedOffer find_checked(const FusedLayer& fused, const at::TensorOptions& options);
    [[nodiscard]] at::Tensor bias_of(const Layer& layer);

    std::unique_ptr<FusedPlans> plans_;
    Precision precision_;
    Layout layout_;
    std::map<FusedLayer, FusedOffer> offers_;
    std::map<int64_t, at::Tensor> no_bias_;  // zeros, by number of channels
};

}  // namespace pb::engine::torch_engine
