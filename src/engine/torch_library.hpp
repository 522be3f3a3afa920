// What LibTorch does for this program. It takes half a second to load, which most commands do not need: so all code
// that calls it lies in libraries of their own, one with CUDA and one without, of which that for this machine is loaded
// when it is first asked for.
#pragma once

#include "engine/memory.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace pb::engine {

class CountingMemory;

/// Its functions.
struct TorchLibrary {
    /// The engine `torch`: oneDNN on the CPU and cuDNN on CUDA.
    std::unique_ptr<Denoiser> (*make_denoiser)(const Weights& weights, const EngineOptions& options);

    // The highest compute rates of LibTorch on a device: upper bounds for the forward call of a network. In TFLOP/s,
    // counting a multiplication and an addition as 2 FLOP, in the precision and with the threads of `options`. Each
    // takes about `budget_s` seconds and up to 2 GiB of the engine's memory on a GPU. Throws like `make_denoiser`.

    /// Product of square matrices: oneDNN on the CPU, cuBLAS on a GPU.
    double (*matmul_tflops)(const EngineOptions& options, double budget_s);

    /// 3x3 convolution of 64 to 64 channels, channels_last: the layer that all networks have at full extent. Deeper
    /// layers have more channels and may be faster.
    double (*conv_tflops)(const EngineOptions& options, double budget_s);

    /// Header and loaded versions of LibTorch, oneDNN and cuDNN.
    std::vector<device::LibraryVersion> (*versions)();

    // The caching allocator of CUDA device `index`; see memory.hpp. Without CUDA they throw UsageError.
    AllocatorCounters (*cuda_counters)(int index);
    void (*reset_cuda_peaks)(int index);
    void (*set_cuda_memory_limit)(int index, int64_t bytes);
    void (*empty_cuda_cache)();
    /// Throws OutOfMemory.
    std::shared_ptr<void> (*allocate_cuda)(int index, size_t bytes);
};

/// Loads it at the first call. Throws Error when it or what it links is not there.
[[nodiscard]] const TorchLibrary& torch_library();

/// The library's only function; LibTorch's tensors on the CPU come from `memory`, which outlives the process's last.
inline constexpr const char* kTorchEntry = "patchbench_torch_library";
using TorchEntry = const TorchLibrary*(CountingMemory& memory);

}  // namespace pb::engine
