// What the library of LibTorch (engine/torch_library.hpp) offers: the engine `torch`, its versions, its compute rates.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <vector>

namespace pb::engine::torch_engine {

[[nodiscard]] std::unique_ptr<Denoiser> make_torch_denoiser(const Weights& weights, const EngineOptions& options);

/// Header and loaded versions of LibTorch, oneDNN and cuDNN.
[[nodiscard]] std::vector<device::LibraryVersion> torch_versions();

[[nodiscard]] double matmul_tflops(const EngineOptions& options, double budget_s);
[[nodiscard]] double conv_tflops(const EngineOptions& options, double budget_s);

}  // namespace pb::engine::torch_engine
