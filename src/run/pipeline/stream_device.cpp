// A CUDA device. Each slot has pinned samples for input and output, their copies on the device, the network's input and
// output, the counts of lost values, and the events between three streams (copy in, compute, copy out). See Note
// [Slots].
#include "base/stopwatch.hpp"
#include "engine/memory.hpp"
#include "run/pipeline/slot_device.hpp"

#include "patchbench/base/error.hpp"

#include <deque>

namespace pb::run {

namespace {

struct StreamSlot {
    StreamSlot(DeviceId device, const BatchView& samples, const BatchView& network_in, const BatchView& network_out)
        : pinned_in(device, samples.bytes()),
          pinned_out(device, samples.bytes()),
          device_in(device, samples.bytes()),
          device_out(device, samples.bytes()),
          in(device, network_in.bytes()),
          out(device, network_out.bytes()),
          lost(device, samples.dtype, network_out.shape.n),
          copy_in_start(device),
          copy_in_end(device),
          forward_start(device),
          forward_end(device),
          copy_out_start(device),
          copy_out_end(device) {}

    device::PinnedBuffer pinned_in, pinned_out;
    engine::EngineBuffer device_in, device_out, in, out;
    LostValues lost;
    std::unique_ptr<engine::CropPass> crop_pass;  // null: all of each window is computed
    device::Event copy_in_start, copy_in_end, forward_start, forward_end, copy_out_start, copy_out_end;
};

class StreamDevice final : public SlotDevice {
  public:
    /// `crop`: of the windows; null: all of each is computed.
    StreamDevice(engine::Denoiser& denoiser, const BatchViews& views, const network::WindowCrop* crop)
        : denoiser_(denoiser),
          views_(views),
          crop_(crop),
          overlap_(views.options.overlap),
          copy_in_(views.options.device),
          compute_(views.options.device),
          copy_out_(views.options.device),
          origin_(views.options.device) {}
    /// Waits for work in flight before the buffers are freed.
    ~StreamDevice() override { StreamDevice::finish(); }
    StreamDevice(const StreamDevice&) = delete;
    StreamDevice& operator=(const StreamDevice&) = delete;

    [[nodiscard]] DeviceTraits traits() const override {
        const size_t window_bytes = views_.samples(nullptr, 1).bytes();
        return {views_.options.slots, overlap_, true, {}, window_bytes, window_bytes, views_.options.copy_threads};
    }

    [[nodiscard]] SlotMemory add_slot(int64_t n) override {
        StreamSlot& slot = slots_.emplace_back(views_.options.device, views_.samples(nullptr, n), views_.in(nullptr, n),
                                               views_.out(nullptr, n));
        if (crop_ != nullptr) slot.crop_pass = denoiser_.make_crop_pass(*crop_, n, compute_);
        if (!slot.crop_pass) denoiser_.prepare(in(slot, n), out(slot, n), compute_);
        compute_.synchronise();
        return {slot.pinned_in.pointer(), slot.pinned_out.pointer(), slot.lost.cores()};
    }

    /// Maps the device's events to the host's clock. No work is in flight, so the host sees the event when it happens.
    void begin_pass(const PassLog& log) override {
        if (log.spans == nullptr) return;
        origin_.record(compute_);
        origin_.synchronise();
        origin_s_ = monotonic_seconds();
    }

    void set_cores(size_t /*slot*/, std::span<const Rect> cores) override { cores_ = cores; }

    void submit(size_t number, int64_t n) override {
        StreamSlot& slot = slots_[number];
        const size_t bytes = views_.samples(nullptr, n).bytes();
        slot.copy_in_start.record(copy_in_);
        device::copy_to_device(slot.device_in.pointer(), slot.pinned_in.pointer(), bytes, copy_in_);
        slot.lost.send(cores_, copy_in_);
        slot.copy_in_end.record(copy_in_);
        settle(slot.copy_in_end);

        compute_.wait(slot.copy_in_end);
        slot.forward_start.record(compute_);
        compute(slot, n);
        slot.forward_end.record(compute_);
        settle(slot.forward_end);

        copy_out_.wait(slot.forward_end);
        slot.copy_out_start.record(copy_out_);
        device::copy_to_host(slot.pinned_out.pointer(), slot.device_out.pointer(), bytes, copy_out_);
        slot.lost.receive(copy_out_);
        slot.copy_out_end.record(copy_out_);
    }

    void wait(size_t number, int64_t batch, PassLog& log) override {
        const StreamSlot& slot = slots_[number];
        slot.copy_out_end.synchronise();
        add_stage(log, {record::Stage::h2d, batch}, slot.copy_in_start, slot.copy_in_end);
        add_stage(log, {record::Stage::forward, batch}, slot.forward_start, slot.forward_end);
        add_stage(log, {record::Stage::d2h, batch}, slot.copy_out_start, slot.copy_out_end);
    }

    void finish() noexcept override {
        for (device::Stream* stream : {&copy_in_, &compute_, &copy_out_}) try {
                stream->synchronise();
            } catch (const Error&) {  // the device is lost; the error has already been reported
            }
    }

    double forward_call(size_t number, int64_t n) override {
        StreamSlot& slot = slots_[number];
        slot.forward_start.record(compute_);
        forward(slot, n);
        slot.forward_end.record(compute_);
        slot.forward_end.synchronise();
        return slot.forward_end.seconds_since(slot.forward_start);
    }

    [[nodiscard]] int64_t replay_bytes() const override { return denoiser_.replay_bytes(); }

  private:
    [[nodiscard]] BatchView in(const StreamSlot& slot, int64_t n) const { return views_.in(slot.in.pointer(), n); }
    [[nodiscard]] BatchView out(const StreamSlot& slot, int64_t n) const { return views_.out(slot.out.pointer(), n); }

    void forward(const StreamSlot& slot, int64_t n) {
        if (slot.crop_pass)
            slot.crop_pass->run(in(slot, n), out(slot, n), cores_);
        else
            denoiser_.forward(in(slot, n), out(slot, n), compute_);
    }

    void compute(const StreamSlot& slot, int64_t n) {
        const device::Conversion& conversion = views_.options.conversion;
        device::samples_to_network(views_.samples(slot.device_in.pointer(), n), in(slot, n), conversion, compute_);
        forward(slot, n);
        device::network_to_samples(out(slot, n), views_.samples(slot.device_out.pointer(), n), conversion, compute_);
        slot.lost.count(out(slot, n), compute_);
    }

    /// With `overlap: off` each stage ends before the next one begins.
    void settle(const device::Event& event) const {
        if (!overlap_) event.synchronise();
    }

    /// The length of the span is the time between the events. Its beginning is only computed for spans that are
    /// recorded.
    void add_stage(PassLog& log, record::Span span, const device::Event& begin, const device::Event& end) const {
        if (log.spans != nullptr && !log.spans->is_full()) span.begin_s = origin_s_ + begin.seconds_since(origin_);
        span.end_s = span.begin_s + end.seconds_since(begin);
        add(log, span);
    }

    engine::Denoiser& denoiser_;
    BatchViews views_;
    const network::WindowCrop* crop_;
    std::span<const Rect> cores_;  // of the batch that is submitted
    bool overlap_;
    device::Stream copy_in_, compute_, copy_out_;
    device::Event origin_;  // zero of the spans' times
    double origin_s_ = 0;
    std::deque<StreamSlot> slots_;
};

}  // namespace

std::unique_ptr<Pipeline> make_device_pipeline(engine::Denoiser& denoiser, const Work& work,
                                               const PipelineOptions& options, int64_t channels, DType sample_type) {
    const BatchViews views{work.window, channels, sample_type, options};
    return make_slot_pipeline(std::make_unique<StreamDevice>(denoiser, views, work.crop.get()), work);
}

}  // namespace pb::run
