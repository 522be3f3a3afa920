// The parts of the engine that need CUDA. Either cuda_backend.cpp or cuda_backend_absent.cpp is linked.
#pragma once

#include "engine/memory.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <c10/core/Allocator.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace pb::engine::torch_engine {

/// Work with the same key works on the same memory: it reads `in` and writes `out`.
struct ReplayKey {
    const void* in = nullptr;
    const void* out = nullptr;
    int64_t phase = 0;  // of several pieces of work on them

    friend auto operator<=>(const ReplayKey&, const ReplayKey&) = default;
};

/// Work that does the same each time, and that CUDA can therefore capture once and replay.
class Replays {
  public:
    virtual ~Replays() = default;
    /// Enqueues `work` the first time that there is a key, captures it the second time, and replays it from then on.
    virtual void run(const ReplayKey& key, const std::function<void()>& work) = 0;
    /// Peak bytes that captured work took from the allocator.
    [[nodiscard]] virtual int64_t captured_bytes() const = 0;
};

/// Runs the work of one denoiser on CUDA: on the given stream, in its precision, eagerly or as a captured graph.
class CudaBackend {
  public:
    virtual ~CudaBackend() = default;

    /// Runs `work` now, with its device and `stream` current. Sets the process-wide settings (TF32, cuDNN's benchmark)
    /// for this denoiser each time, since a process can have denoisers of several precisions.
    virtual void run_on(device::Stream& stream, const std::function<void()>& work) = 0;

    /// Captures `work`, which reads `in` and writes `out`, and replaces an earlier capture of the same pair. The shape
    /// must be the last one passed to keep_only(). All graphs share one memory pool, so replay them on one stream only.
    virtual void capture(const BatchView& in, const BatchView& out, device::Stream& stream,
                         const std::function<void()>& work) = 0;

    /// False when this pair was not captured.
    [[nodiscard]] virtual bool replay(const BatchView& in, const BatchView& out, device::Stream& stream) = 0;

    /// Drops graphs of other shapes. Returns whether there is one of this shape. Then capture the next pair without a
    /// call before, which would take the memory of the graphs a second time.
    virtual bool keep_only(const Shape& shape) = 0;

    /// As Replays::run, for work that needs no shape.
    virtual void repeat(const ReplayKey& key, device::Stream& stream, const std::function<void()>& work) = 0;

    /// Peak bytes that the captured work took from the allocator.
    [[nodiscard]] virtual int64_t captured_bytes() const = 0;
};

/// Throws UsageError when CUDA or the device is absent.
[[nodiscard]] std::unique_ptr<CudaBackend> make_cuda_backend(const EngineOptions& options);

// The caching allocator of device `index`; see memory.hpp. Without CUDA they throw UsageError.
[[nodiscard]] AllocatorCounters cuda_counters(int index);
void reset_cuda_peaks(int index);
void set_cuda_memory_limit(int index, int64_t bytes);
void empty_cuda_cache();
/// Frees the workspaces that matrix products keep for each stream on which they ran.
void release_cublas_workspaces();
[[nodiscard]] c10::DataPtr allocate_cuda(int index, size_t bytes);

/// Versions of cuDNN at compile time and at run time; empty without CUDA.
[[nodiscard]] std::vector<device::LibraryVersion> cudnn_versions();

}  // namespace pb::engine::torch_engine
