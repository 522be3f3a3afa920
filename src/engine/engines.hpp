// The engines behind make_denoiser, which has checked device and precision (base/engine_precision.hpp). The engine
// `torch` is behind torch_library.hpp.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

/// The engine `native`: Winograd's method and direct convolutions through Highway, for the instruction set of the
/// processor. CPU only, fp32, channels last; about three times as fast as the engine torch there. Throws UsageError for
/// another layout.
[[nodiscard]] std::unique_ptr<Denoiser> make_native_denoiser(const Weights& weights, const EngineOptions& options);

namespace worker_engine {

/// The engines that run in a process of their own (has_own_process). CPU. Starts the process and waits until it has
/// loaded the network: throws Error with its last words where that fails, and where the engine is not installed.
/// Windows in bf16 cross the shared memory as fp32.
[[nodiscard]] std::unique_ptr<Denoiser> make_worker_denoiser(const Weights& weights, const EngineOptions& options);

}  // namespace worker_engine

/// The engine `reference`: plain loops in double precision, to test the other engines against. CPU only, fp32 input and
/// output, either layout; slow.
[[nodiscard]] std::unique_ptr<Denoiser> make_reference_denoiser(const Weights& weights, const EngineOptions& options);

}  // namespace pb::engine
