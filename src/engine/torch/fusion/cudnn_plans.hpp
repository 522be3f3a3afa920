// cuDNN's fused plans, through cudnn-frontend: cudnn_plans.cpp or cudnn_plans_absent.cpp is linked, never both.
#pragma once

#include "engine/torch/fusion/fused_layer.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace pb::torch_engine {

/// Plans for CUDA device `index`, which must be current when they are looked for and run. With `autotune` the first
/// that cuDNN proposes are timed and the fastest is taken, and remembered in a file of `cache` (none where it is
/// empty); without, the first that can be built.
[[nodiscard]] std::unique_ptr<FusedPlans> make_cudnn_plans(int index, bool autotune,
                                                           const std::filesystem::path& cache);

/// How many plans cuDNN proposes for `layer` on a device that need not be there: `device` is cuDNN's description of one
/// in JSON. Throws Error with cuDNN's reason where it has none.
[[nodiscard]] int64_t count_proposed_plans(const FusedLayer& layer, const std::string& device);

}  // namespace pb::torch_engine
