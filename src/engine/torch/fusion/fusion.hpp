// Runs the layers of a network fused when a plan was found and checked, and reports the other layers. What a fused
// layer computes, the interface of a library that computes it, and which of the plans that it proposes are built and
// timed: all independent of cuDNN, whose plans are declared here, too.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/shape.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct SearchLimits {
    size_t plans = 1;
    double seconds = 0;  // after which no further plan is built, once there is one
};

/// The plans that `build(index)` makes of the first proposals, in their order; it returns an empty optional for one
/// that cannot be built. A plan whose kernel is compiled at run time takes a second or more, and a network has dozens
/// of layers: hence the limit of time. `now_s()` is the clock.
template <class Build, class Clock>
auto build_first(int64_t num_proposed, const SearchLimits& limits, const Build& build, const Clock& now_s) {
    std::vector<typename decltype(build(0))::value_type> built;
    const double end_s = now_s() + limits.seconds;
    for (int64_t i = 0; i < num_proposed && built.size() < limits.plans; ++i) {
        if (!built.empty() && now_s() >= end_s) break;
        if (auto plan = build(i)) built.push_back(*std::move(plan));
    }
    return built;
}

/// Place of the smallest of `seconds`, which are infinite for a plan that does not run; none when none runs.
[[nodiscard]] inline std::optional<size_t> fastest_of(const std::vector<double>& seconds) {
    const auto fastest = std::min_element(seconds.begin(), seconds.end());
    if (fastest == seconds.end() || std::isinf(*fastest)) return std::nullopt;
    return static_cast<size_t>(fastest - seconds.begin());
}

/// Fused plans of cuDNN, through cudnn-frontend: either cudnn_plans.cpp or cudnn_plans_absent.cpp is linked. For CUDA
/// device `index`, which must be current when a plan is searched or run. With `autotune` the first plans that cuDNN
/// proposes are timed, and the fastest is used and stored in the user's cache. Without it the first plan that can be
/// built is used.
[[nodiscard]] std::unique_ptr<FusedPlans> make_cudnn_plans(int index, bool autotune);

/// Number of plans that cuDNN proposes for `layer` on a device that need not exist: `device` is cuDNN's description of
/// it in JSON. Throws Error with cuDNN's reason when there are none.
[[nodiscard]] int64_t count_proposed_plans(const FusedLayer& layer, const std::string& device);

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
