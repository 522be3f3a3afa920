// The pass of one rank over its windows: gather, h2d, forward, d2h, scatter. The same loop (slot_pipeline.cpp) runs it
// on every device (slot_device.hpp): on a CPU, which computes inline; on a CUDA device with two or three slots, three
// streams and events, so that copies, compute and host work overlap; or on the clock of a simulated device. After
// construction a pass allocates nothing and never synchronises the whole device.
#pragma once

#include "comm/rows/border_channel.hpp"
#include "device/convert.hpp"
#include "image/image.hpp"
#include "run/pipeline/batch_queue.hpp"
#include "run/pipeline/span_log.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/slab.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace pb::run {

struct PipelineOptions {
    DeviceId device;
    DType values = DType::f32;  // of the network's input and output
    Layout layout = Layout::channels_last;
    device::Conversion conversion;
    int64_t slots = 2;
    bool overlap = true;
    int copy_threads = 1;                       // that cut windows and write cores, on a GPU (see `copy_threads_of`)
    const comm::Communicator* ranks = nullptr;  // of the point; null where passes of ranks are independent
    comm::DeviceBorders* device_borders = nullptr;  // null: border rows go by MPI, through memory of the host
};

/// The threads of a rank that cut windows and write cores, of those that it may use. On a CPU the network needs all.
[[nodiscard]] inline int copy_threads_of(DeviceId device, int threads) {
    constexpr int kMost = 8;  // more hardly copy faster
    return device.is_cuda() ? std::clamp(threads, 1, kMost) : 1;
}

/// One forward call whose steps were timed one by one (`Denoiser::forward_by_steps`). No steps: the engine does not
/// tell them apart, or this rank has no windows.
struct ProfiledCall {
    int64_t windows = 0;
    int64_t pixels = 0;  // of all windows
    double seconds = 0;
    std::vector<engine::StepTime> steps;
};

class Pipeline {
  public:
    virtual ~Pipeline() = default;
    /// Processes all of `batches` from `input` to `output` and returns when the last core is written. Adds the times to
    /// `log`. Throws Interrupted between batches after a signal.
    virtual void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) = 0;
    /// Returns the seconds of one forward call on a resident batch, or 0 when this rank has no windows.
    virtual double forward_call() = 0;
    /// The same call, step by step.
    [[nodiscard]] virtual ProfiledCall profiled_call() { return {}; }
    /// Bytes of border rows that this rank sent in the last pass.
    [[nodiscard]] virtual int64_t border_bytes() const { return 0; }
    /// `Denoiser::replay_bytes` of the pipeline's denoiser, or of its pass.
    [[nodiscard]] virtual int64_t replay_bytes() const { return 0; }
};

/// Peak of the engine's allocator since its peaks were reset, in bytes, including the memory of captured graphs.
[[nodiscard]] int64_t peak_allocated_bytes(const Pipeline& pipeline, DeviceId device);

/// Makes the pipeline for a CPU or CUDA device. Allocates the slots and prepares the denoiser for their shapes.
/// `denoiser` and `work` must outlive it.
[[nodiscard]] std::unique_ptr<Pipeline> make_pipeline(engine::Denoiser& denoiser, const Work& work,
                                                      const PipelineOptions& options, int64_t channels,
                                                      DType sample_type);
[[nodiscard]] std::unique_ptr<Pipeline> make_host_pipeline(engine::Denoiser& denoiser, const Work& work,
                                                           const PipelineOptions& options, int64_t channels,
                                                           DType sample_type);
[[nodiscard]] std::unique_ptr<Pipeline> make_device_pipeline(engine::Denoiser& denoiser, const Work& work,
                                                             const PipelineOptions& options, int64_t channels,
                                                             DType sample_type);

/// The seconds of a call with this number of windows on a simulated device.
using CallSeconds = std::function<double(int64_t)>;
/// Makes the pipeline for a simulated device. `pixel_bytes`: size of one pixel, channels times element size.
[[nodiscard]] std::unique_ptr<Pipeline> make_timed_pipeline(CallSeconds call_seconds, const Work& work,
                                                            const PipelineOptions& options, size_t pixel_bytes);

/// Runs one window through a network from host to host, one step after another, for the command `check`. Returns the
/// output of `denoiser` for `window` (f32, extents multiples of the network's alignment), with the same extent and
/// type. `denoiser` must run in fp32 with contiguous tensors on `device`, which the calling thread must have selected.
/// Synchronises `stream`.
[[nodiscard]] image::Image run_window(engine::Denoiser& denoiser, image::Image window,
                                      const device::Conversion& conversion, DeviceId device, device::Stream& stream);

}  // namespace pb::run
