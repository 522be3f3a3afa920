// Measures the highest compute rates of LibTorch on a device: upper bounds for the forward call of a network. In
// TFLOP/s, counting a multiplication and an addition as 2 FLOP, in the precision and with the threads of `options`.
// Each function takes about `budget_s` seconds and up to 2 GiB of the engine's memory on a GPU. Throws like
// `make_denoiser`.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

/// Product of square matrices: oneDNN on the CPU, cuBLAS on a GPU.
[[nodiscard]] double matmul_tflops(const EngineOptions& options, double budget_s);

/// 3x3 convolution of 64 to 64 channels, channels_last: the layer that all networks have at full extent. Deeper layers
/// have more channels and may be faster.
[[nodiscard]] double conv_tflops(const EngineOptions& options, double budget_s);

}  // namespace pb::engine
