// The thing that runs a network: windows in, windows out, on a stream. Nothing of its library leaks through here.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/base/shared_blocks.hpp"
#include "patchbench/base/views.hpp"
#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"
#include "patchbench/engine/weights.hpp"
#include "patchbench/network/memory_plan.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::engine {

/// For engines that run in a process of their own. It is killed when the thread that made the denoiser ends
/// (PR_SET_PDEATHSIG in prctl(2)): make it in a thread that lives as long.
struct WorkerOptions {
    std::string file;                 ///< engine python: the adapter
    std::string options;              ///< for the adapter: NAME or NAME=VALUE, joined by commas
    double timeout_s = 300;           ///< for loading the network, and for one forward call
    int64_t memory_limit_bytes = 0;   ///< what forward calls may add to the memory of the process; 0: no limit
    std::function<void()> interrupt;  ///< called now and then during a call; what it throws ends the process
};

/// For engines that transform their weights.
struct SharedWeights {
    std::shared_ptr<SharedBlocks> blocks;  ///< null: each process has its own copy
    int64_t num_processes = 1;             ///< that share a block: each counts that part of it as its own memory
    std::string digest;                    ///< sha256_of_values of the weights

    bool operator==(const SharedWeights&) const = default;
};

struct EngineOptions {
    EngineKind engine = EngineKind::torch;
    DeviceId device;
    Precision precision = Precision::fp32;
    Layout layout = Layout::channels_last;
    int threads = 1;               ///< CPU: threads inside one forward call (set for the calling thread)
    bool cudnn_benchmark = false;  ///< CUDA: time cuDNN's algorithms in prepare()
    bool cuda_graph = false;       ///< CUDA: capture the forward call in prepare() and replay it
    bool fusion = false;        ///< CUDA: bias, ReLU and sums inside the convolutions, where found right in prepare()
    int64_t winograd_tile = 4;  ///< native in fp32: 4, or 2: 4/9 of its transformed weights, slower, other rounding
    SharedWeights shared;       ///< native
    WorkerOptions worker;
};

/// An image that goes through a network in row bands, from top to bottom (Note [Carried rows]). Each row of each map is
/// computed once, and the output is the whole image's, native: bit for bit, torch: within rounding.
class BandPass {
  public:
    virtual ~BandPass() = default;

    /// Runs a step of the schedule, or enqueues it; steps follow one another from 0 on, and step 0 begins an image.
    /// `in`: the rows of the input that the step takes, `out`: memory for those of the output that it makes; NHWC, of
    /// the type of Denoiser::forward, on the denoiser's device, both unused where there are none.
    virtual void run(int64_t step, const void* in, void* out) = 0;
    /// Bytes at the peak of steps that are replayed from a captured graph, which the allocator does not see.
    [[nodiscard]] virtual int64_t replay_bytes() const { return 0; }
    /// The pass calls `done` after each layer of a step with the number of layers that are done, and of all.
    void report_layers(std::function<void(int64_t, int64_t)> done) { layer_done_ = std::move(done); }

  protected:
    void tell_layer(int64_t done, int64_t all) const {
        if (layer_done_) layer_done_(done, all);
    }

  private:
    std::function<void(int64_t, int64_t)> layer_done_;
};

/// What a SlabPass asks of its caller: to exchange border rows with the neighbours, in memory of the denoiser's device.
/// One exchange at a time; both sides of a border make the same exchanges in the same order.
class RowExchange {
  public:
    virtual ~RowExchange() = default;
    /// Begins to send and to receive. The rows stay where they are, and `sent` stays unchanged, until finish(). On CUDA
    /// the rows are those after the work that was enqueued on the pass's stream before.
    virtual void start(const BorderRows& above, const BorderRows& below) = 0;
    /// Returns when the rows have arrived, on CUDA for work that is enqueued later, and those of this slab have left.
    virtual void finish() = 0;
};

/// A slab of rows of an image that goes through a network together with the slabs of its neighbours (Note [Exchanged
/// rows]). Each row of each map is computed once, and the output is the whole image's, native: bit for bit, torch:
/// within rounding.
class SlabPass {
  public:
    virtual ~SlabPass() = default;

    /// Runs the network on the slab, or enqueues it. `in`: the rows of the input that the slab holds, `out`: memory for
    /// those of the output that it owns; NHWC, of the type of Denoiser::forward, on the denoiser's device. Without
    /// `exchange` the arithmetic is the same, on border rows that hold anything: for timing.
    virtual void run(const void* in, void* out, RowExchange* exchange) = 0;
};

/// How long one step of a forward call took.
struct StepTime {
    network::Step step;
    double seconds = 0;
    double part = 1;  // of its map that it computed
};

/// Forward calls on windows of which only a part, the core, is used (Note [Cropped windows]).
class CropPass {
  public:
    virtual ~CropPass() = default;

    /// `in`, `out`: as of Denoiser::forward, of at most the windows that the pass was made for. `cores[i]`, within
    /// window i, is one that the crop was made for. There `out` is that of Denoiser::forward, native: bit for bit,
    /// torch: within rounding; elsewhere anything.
    virtual void run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) = 0;
    /// The same, its steps timed one by one; empty, and nothing was computed, on CUDA.
    [[nodiscard]] virtual std::vector<StepTime> run_by_steps(const BatchView& in, const BatchView& out,
                                                             std::span<const Rect> cores) = 0;
};

/// Seconds that windows took to a device and back.
struct CopySeconds {
    double to_device = 0, to_host = 0;
};

/// One network on one device. Not thread-safe. Every call may throw OutOfMemory (nothing is leaked; the next call
/// works) or IndexLimit. On the CPU in fp32, and in bf16 by engine native, a window's output has the same bits whatever
/// its place in the batch, the size of the batch and the number of threads.
class Denoiser {
  public:
    virtual ~Denoiser() = default;

    /// CUDA: allocates, autotunes and captures what a forward call on this input and output needs, by running it (the
    /// output is written) and waiting for `stream`; a forward call then allocates nothing. CPU: checks the views. Both
    /// views stay valid until the next prepare() with the same pointers. Several pairs (slots) of the same shape may be
    /// prepared one after another, all on the stream that forward() will be given; another shape drops them.
    virtual void prepare(const BatchView& in, const BatchView& out, device::Stream& stream) = 0;

    /// `in`: n windows of channels (+ 1 when the network takes sigma), `out`: n windows of channels; element type
    /// storage_of(precision), of engine native always fp32; layout of the options, extents multiples of the alignment.
    /// Enqueued on `stream`. Views that were not prepared are served, too, and may allocate.
    virtual void forward(const BatchView& in, const BatchView& out, device::Stream& stream) = 0;

    /// For the steps of `schedule`, which is of the engine's unit; native allocates all that they need. On CUDA they
    /// are enqueued on `stream`. Schedule and stream must outlive the pass. Throws OutOfMemory, and UsageError where
    /// the engine cannot carry rows.
    [[nodiscard]] virtual std::unique_ptr<BandPass> make_band_pass(const network::BandSchedule& /*schedule*/,
                                                                   device::Stream& /*stream*/) {
        refuse_rows("halo = carried", "carry rows");
    }

    /// For a slab; native allocates all that it needs. On CUDA work is enqueued on `stream`. Slab and stream must
    /// outlive the pass. Throws OutOfMemory, and UsageError where the engine cannot exchange rows.
    [[nodiscard]] virtual std::unique_ptr<SlabPass> make_slab_pass(const network::ExchangedSlab& /*slab*/,
                                                                   device::Stream& /*stream*/) {
        refuse_rows("halo = exchanged", "exchange rows");
    }

    /// For calls on up to `n` windows, for which native allocates all that they need; the crop must be of the engine's
    /// kind (CropEngine). Calls are enqueued on `stream`, and their views need no prepare(). Crop and stream must
    /// outlive the pass. Throws OutOfMemory. Null where whole windows are computed only.
    [[nodiscard]] virtual std::unique_ptr<CropPass> make_crop_pass(const network::WindowCrop& /*crop*/, int64_t /*n*/,
                                                                   device::Stream& /*stream*/) {
        return nullptr;
    }

    /// A forward call whose steps are timed one by one, in their order. Empty, and nothing was computed, where the
    /// engine does not tell them apart: on CUDA, in a process of its own.
    [[nodiscard]] virtual std::vector<StepTime> forward_by_steps(const BatchView& /*in*/, const BatchView& /*out*/,
                                                                 device::Stream& /*stream*/) {
        return {};
    }

    /// CUDA graphs: bytes of the allocator that a replay works in and that the allocator's counters do not show while
    /// it does; 0 where forward() allocates by itself.
    [[nodiscard]] virtual int64_t replay_bytes() const { return 0; }

    /// The process that runs the network, whose memory and CPU time count like this one's; 0: this process does.
    [[nodiscard]] virtual int process_id() const { return 0; }

    /// Whether that process has ended, so that every call would throw.
    [[nodiscard]] virtual bool has_ended() const { return false; }

    /// sha256 of the values that a network of code has in memory (`state_dict()`): they may come from other files than
    /// its own, or be drawn. Empty: the file of the network has them.
    [[nodiscard]] virtual std::string network_sha256() const { return {}; }

    /// Seconds that the last forward call took by the clock of that process, without the hand-over of the windows and
    /// without their copies to its device. None: this process runs the network, or there was no call.
    [[nodiscard]] virtual std::optional<double> inner_call_s() const { return {}; }

    /// Whether windows lie in host memory, although the device is another one: that process copies them to its device.
    [[nodiscard]] virtual bool takes_host_memory() const { return false; }

    /// What those copies took in the last forward call.
    [[nodiscard]] virtual CopySeconds copies_of_call() const { return {}; }

    /// What a reader of its figures must know ("this processor has no bf16 arithmetic: ..."); empty for nothing.
    [[nodiscard]] virtual std::string remark() const { return {}; }

  private:
    [[noreturn]] static void refuse_rows(const std::string& setting, const std::string& what) {
        throw UsageError(setting +
                         ": only the engines native and torch (channels_last, on CUDA or on the CPU in fp32) " + what +
                         "; choose one of them");
    }
};

/// Builds the network of `weights`. Throws UsageError where the options do not fit (fp16 or tf32 on the CPU, cuda in a
/// build or on a machine without it), OutOfMemory where the weights do not fit.
[[nodiscard]] std::unique_ptr<Denoiser> make_denoiser(const Weights& weights, const EngineOptions& options);

/// Header and loaded versions of LibTorch, cuDNN, oneDNN for the environment record.
[[nodiscard]] std::vector<device::LibraryVersion> engine_versions();

}  // namespace pb::engine
