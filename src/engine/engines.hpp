// The engines behind make_denoiser, which has checked device and precision (base/engine_support.hpp). The engine
// `torch` is behind torch_library.hpp.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

/// The engine `native`: Winograd's method and direct convolutions through Highway, for the instruction set of the
/// processor. CPU only, channels last; about three times as fast as the engine torch there. fp32, or bf16 where the
/// processor has products of it: then Winograd's method rounds what it multiplies, and all else, windows included, is
/// fp32. Throws UsageError for another layout, and for bf16 on another processor.
[[nodiscard]] std::unique_ptr<Denoiser> make_native_denoiser(const Weights& weights, const EngineOptions& options);

/// Whether this processor has the products that engine native needs for bf16: AVX512-BF16.
[[nodiscard]] bool native_multiplies_bf16();

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
