// The engines behind make_denoiser, which has checked device and precision (base/engine_precision.hpp), and the checks
// that all of them make before they touch a pointer.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

namespace torch_engine {

/// The engine `torch`: LibTorch with oneDNN on the CPU and cuDNN on CUDA.
[[nodiscard]] std::unique_ptr<Denoiser> make_torch_denoiser(const Weights& weights, const EngineOptions& options);

/// Header and loaded versions of LibTorch, oneDNN and cuDNN.
[[nodiscard]] std::vector<device::LibraryVersion> torch_versions();

}  // namespace torch_engine

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

struct ExpectedViews {
    network::NetworkKind kind;
    int64_t channels_in;
    int64_t channels_out;
    int64_t alignment;   // extents are multiples of it
    int64_t widest_map;  // in values per pixel
    DType dtype{};
    Layout layout{};
    DeviceId device{};
};

[[nodiscard]] ExpectedViews expected_views(const Weights& weights, const EngineOptions& options);

/// Throws Error when a view does not fit, and IndexLimit when one sample would have 2^31 elements or more in the widest
/// layer: more than 32-bit indices of LibTorch and cuDNN can address, whatever the memory.
void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out);

}  // namespace pb::engine
