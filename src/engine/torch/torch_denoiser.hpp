// The engine `torch`.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <vector>

namespace pb::engine::torch_engine {

[[nodiscard]] std::unique_ptr<Denoiser> make_torch_denoiser(const Weights& weights, const EngineOptions& options);

/// Header and loaded versions of LibTorch, oneDNN and cuDNN.
[[nodiscard]] std::vector<device::LibraryVersion> torch_versions();

}  // namespace pb::engine::torch_engine
