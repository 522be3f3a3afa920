// The device that runs the batches of a slot pipeline: a CPU, a CUDA device, or the clock of a simulated device. A
// device has slots, each with host memory for one batch. The loop (slot_pipeline.cpp) cuts windows into a slot, submits
// the slot, waits for it and writes its cores.
#pragma once

#include "device/part_count.hpp"
#include "engine/memory.hpp"
#include "run/pipeline/pipeline.hpp"

#include "patchbench/base/views.hpp"
#include "patchbench/device/stream.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace pb::run {

/// The properties of a device that the loop uses.
struct DeviceTraits {
    int64_t num_slots = 1;
    bool overlap = false;        // true: the loop cuts windows and writes cores while other slots are in flight
    bool has_tail_slot = false;  // a ragged last batch has another shape and its own slot
    /// Set when slots hold the network's f32 NHWC values, which are converted while windows are cut and cores are
    /// written. Empty when slots hold samples.
    std::optional<device::Conversion> fused;
    size_t window_in_bytes = 0, window_out_bytes = 0;  // bytes of a window in a slot, before and after the network
    int copy_threads = 1;
};

/// Host memory of a slot: contiguous windows, before and after the network. Both pointers may refer to the same memory.
struct SlotMemory {
    std::byte* in = nullptr;
    const std::byte* out = nullptr;
    /// One count for the core of each window: values that were lost when they became samples. Null: none are.
    const device::PartCount* cores = nullptr;
};

/// Slots are numbered 0, 1, ... in the order of add_slot(). Only add_slot() allocates. The destructor waits for all
/// work in flight.
class SlotDevice {
  public:
    virtual ~SlotDevice() = default;
    [[nodiscard]] virtual DeviceTraits traits() const = 0;
    /// Adds a slot for batches of at most `n` windows and prepares the network for them. Throws OutOfMemory.
    [[nodiscard]] virtual SlotMemory add_slot(int64_t n) = 0;
    /// Called before each pass, when no work is in flight.
    virtual void begin_pass(const PassLog& /*log*/) {}
    /// Called after the `n` windows of a batch are cut. Its time counts as stage gather.
    virtual void after_cutting(size_t /*slot*/, int64_t /*n*/) {}
    /// The cores of the windows of a slot, within each: all that the next calls must compute, and count. Valid until
    /// other cores are set.
    virtual void set_cores(size_t /*slot*/, std::span<const Rect> /*cores*/) {}
    /// Starts the network on the `n` windows of a slot.
    virtual void submit(size_t slot, int64_t n) = 0;
    /// Returns when the slot's windows are finished. Adds the device's stages to `log` under batch `number`.
    virtual void wait(size_t slot, int64_t number, PassLog& log) = 0;
    /// Called before the cores of a batch are written. Its time counts as stage scatter.
    virtual void before_writing(size_t /*slot*/, int64_t /*n*/) {}
    /// Returns when no work is in flight, also after an error.
    virtual void finish() noexcept {}
    /// Returns the seconds of one call of the network on the `n` windows of a slot.
    virtual double forward_call(size_t slot, int64_t n) = 0;
    /// The same call, step by step.
    [[nodiscard]] virtual ProfiledCall profiled_call(size_t /*slot*/, int64_t /*n*/) { return {}; }
    [[nodiscard]] virtual int64_t replay_bytes() const { return 0; }
};

/// The loop of a pass, the same for every device. `work` must outlive it.
[[nodiscard]] std::unique_ptr<Pipeline> make_slot_pipeline(std::unique_ptr<SlotDevice> device, const Work& work);

/// Views of batches of `n` windows: as samples, and as input and output of the network.
struct BatchViews {
    Extent window;
    int64_t channels = 0;
    DType sample_type = DType::f32;
    PipelineOptions options;

    [[nodiscard]] BatchView samples(void* pointer, int64_t n) const {
        return {pointer, {n, channels, window.h, window.w}, sample_type, Layout::channels_last, options.device};
    }
    [[nodiscard]] BatchView in(void* pointer, int64_t n) const {
        return network(pointer, n, channels + (options.conversion.sigma ? 1 : 0));
    }
    [[nodiscard]] BatchView out(void* pointer, int64_t n) const { return network(pointer, n, channels); }

  private:
    [[nodiscard]] BatchView network(void* pointer, int64_t n, int64_t network_channels) const {
        return {pointer, {n, network_channels, window.h, window.w}, options.values, options.layout, options.device};
    }
};

/// The values of cores that are not finite, counted on a CUDA device while they are still the network's: integers
/// cannot say so. The cores travel there with the samples, and their counts back with those of the output. Where
/// samples are floats, nothing is lost and nothing is counted.
class LostValues {
  public:
    /// Room for `most` cores. Throws OutOfMemory.
    LostValues(DeviceId device, DType sample_type, int64_t most)
        : counts_(!is_float(sample_type)), here_(device, bytes_of(most)), there_(device, bytes_of(most)) {}

    /// Takes the cores of a batch to the device. The next calls are about them.
    void send(std::span<const Rect> cores, device::Stream& stream) {
        num_cores_ = std::ssize(cores);
        std::ranges::transform(cores, on_host(), [](const Rect& core) { return device::PartCount{core}; });
        if (counts_) device::copy_to_device(there_.pointer(), here_.pointer(), bytes_of(num_cores_), stream);
    }
    /// In the network's output, on the device: one core of each window, or all of its only one.
    void count(const BatchView& output, device::Stream& stream) const {
        auto* const cores = static_cast<device::PartCount*>(there_.pointer());
        if (counts_) device::count_not_finite(output, cores, num_cores_, stream);
    }
    /// Brings the counts back to `cores`.
    void receive(device::Stream& stream) {
        if (counts_) device::copy_to_host(here_.pointer(), there_.pointer(), bytes_of(num_cores_), stream);
    }
    /// The cores that were sent, in their order, in memory that stays where it is.
    [[nodiscard]] const device::PartCount* cores() const { return on_host(); }

  private:
    static size_t bytes_of(int64_t cores) { return static_cast<size_t>(cores) * sizeof(device::PartCount); }
    [[nodiscard]] device::PartCount* on_host() const { return reinterpret_cast<device::PartCount*>(here_.pointer()); }

    bool counts_;
    int64_t num_cores_ = 0;
    device::PinnedBuffer here_;
    engine::EngineBuffer there_;
};

}  // namespace pb::run
