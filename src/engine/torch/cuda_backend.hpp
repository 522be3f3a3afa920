// What LibTorch does on CUDA only, behind functions that a build without CUDA can lack: cuda_backend.cpp or
// cuda_backend_absent.cpp is linked, never both.
#pragma once

#include "engine/memory.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <c10/core/Allocator.h>

#include <functional>
#include <memory>
#include <vector>

namespace pb::torch_engine {

/// Runs one denoiser's work on CUDA: on the given stream, in the denoiser's precision, eagerly or as a captured graph.
class CudaBackend {
  public:
    virtual ~CudaBackend() = default;

    /// Runs `work` now, with its device and `stream` current and the process-wide settings (TF32, cuDNN's benchmark)
    /// set to what this denoiser needs: denoisers of several precisions live side by side.
    virtual void run_on(Stream& stream, const std::function<void()>& work) = 0;

    /// Captures `work`, which reads `in` and writes `out`, in place of an earlier capture of the same pair, the shape
    /// being the one that was kept last. All graphs share one memory pool: they are replayed on one stream, one by one.
    virtual void capture(const BatchView& in, const BatchView& out, Stream& stream,
                         const std::function<void()>& work) = 0;

    /// False when this pair was not captured.
    [[nodiscard]] virtual bool replay(const BatchView& in, const BatchView& out, Stream& stream) = 0;

    /// Drops graphs of other shapes. Returns whether there is one of this shape: the next pair then needs no call
    /// before its capture, which would take the memory of the graphs once more.
    virtual bool keep_only(const Shape& shape) = 0;

    /// Bytes that the captured work took from the allocator, at its peak.
    [[nodiscard]] virtual int64_t captured_bytes() const = 0;
};

/// Throws UsageError where CUDA or the device is absent.
[[nodiscard]] std::unique_ptr<CudaBackend> make_cuda_backend(const EngineOptions& options);

// The caching allocator of device `index`; see memory.hpp. Without CUDA they throw UsageError.
[[nodiscard]] AllocatorCounters cuda_counters(int index);
void reset_cuda_peaks(int index);
void set_cuda_memory_limit(int index, int64_t bytes);
void empty_cuda_cache();
/// Matrix products keep one for each stream that they ran on.
void release_cublas_workspaces();
[[nodiscard]] c10::DataPtr allocate_cuda(int index, size_t bytes);

/// cuDNN's version, compiled against and loaded; empty without CUDA.
[[nodiscard]] std::vector<LibraryVersion> cudnn_versions();

}  // namespace pb::torch_engine
