// The rates that engine/compute_rates.hpp promises, by LibTorch's own operators.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::torch_engine {

[[nodiscard]] double matmul_rate(const EngineOptions& options, double budget_s);
[[nodiscard]] double conv_rate(const EngineOptions& options, double budget_s);

}  // namespace pb::engine::torch_engine
