// What LibTorch reaches at best on a device: the upper bounds that a network's forward call is set beside. TFLOP/s by 2
// FLOP for a multiplication and an addition, in the precision of `options`, with its threads; each takes about
// `budget_s` seconds and up to 2 GiB of the engine's memory on a GPU. Throws as `make_denoiser`.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb {

/// Product of square matrices: oneDNN on the CPU, cuBLAS on a GPU.
[[nodiscard]] double matmul_tflops(const EngineOptions& options, double budget_s);

/// 3x3 convolution of 64 to 64 channels, channels_last: the layer that all networks have at full extent. Deeper layers
/// have more channels and may do better.
[[nodiscard]] double conv_tflops(const EngineOptions& options, double budget_s);

}  // namespace pb
