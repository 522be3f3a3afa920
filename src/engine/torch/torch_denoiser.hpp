// The engine `torch`: LibTorch with oneDNN on the CPU and cuDNN on CUDA.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::torch_engine {

[[nodiscard]] std::unique_ptr<Denoiser> make_torch_denoiser(const Weights& weights, const EngineOptions& options);

/// Header and loaded versions of LibTorch, oneDNN and cuDNN.
[[nodiscard]] std::vector<LibraryVersion> torch_versions();

}  // namespace pb::torch_engine
