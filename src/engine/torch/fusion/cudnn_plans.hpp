// Fused plans of cuDNN, through cudnn-frontend. Either cudnn_plans.cpp or cudnn_plans_absent.cpp is linked.
#pragma once

#include "engine/torch/fusion/fused_layer.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace pb::engine::torch_engine {

/// Plans for CUDA device `index`, which must be current when a plan is searched or run. With `autotune` the first plans
/// that cuDNN proposes are timed, and the fastest is used and stored in the folder `cache` (not stored when empty).
/// Without it the first plan that can be built is used.
[[nodiscard]] std::unique_ptr<FusedPlans> make_cudnn_plans(int index, bool autotune,
                                                           const std::filesystem::path& cache);

/// Number of plans that cuDNN proposes for `layer` on a device that need not exist: `device` is cuDNN's description of
/// it in JSON. Throws Error with cuDNN's reason when there are none.
[[nodiscard]] int64_t count_proposed_plans(const FusedLayer& layer, const std::string& device);

}  // namespace pb::engine::torch_engine
