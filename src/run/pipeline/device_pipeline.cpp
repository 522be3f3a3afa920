// The pipeline of a CUDA rank. Note [Slots]: a slot is one batch in flight: pinned samples in and out, their copies on
// the device, the network's input and output, and the events between three streams (copy in, compute, copy out). While
// the device works on one slot the host writes the cores of an older one and cuts the windows of the next. The host
// waits for one event only: the end of the copy out of the slot that it is about to use again.
#include "base/fault.hpp"
#include "run/pipeline/pipelines.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace pb {

namespace {

struct Slot {
    Slot(DeviceId device, const BatchView& samples, const BatchView& network_in, const BatchView& network_out)
        : pinned_in(device, samples.bytes()),
          pinned_out(device, samples.bytes()),
          device_in(device, samples.bytes()),
          device_out(device, samples.bytes()),
          in(device, network_in.bytes()),
          out(device, network_out.bytes()),
          copy_in_start(device),
          copy_in_end(device),
          forward_start(device),
          forward_end(device),
          copy_out_start(device),
          copy_out_end(device) {}

    PinnedBuffer pinned_in, pinned_out;
    EngineBuffer device_in, device_out, in, out;
    Event copy_in_start, copy_in_end, forward_start, forward_end, copy_out_start, copy_out_end;
    std::optional<Range> batch;  // in flight
};

class DevicePipeline final : public Pipeline {
  public:
    DevicePipeline(Denoiser& denoiser, const Work& work, const PipelineOptions& options, int64_t channels,
                   DType sample_type)
        : denoiser_(denoiser),
          work_(work),
          options_(options),
          channels_(channels),
          sample_type_(sample_type),
          copy_in_(options.device),
          compute_(options.device),
          copy_out_(options.device),
          origin_(options.device),
          batches_(work.batches()) {
        if (batches_.empty()) return;
        const int64_t first = run_size(batches_.front(), work_);
        // A ragged last batch is another shape and has a slot of its own. It is prepared first: a denoiser keeps
        // captured graphs for the shape that was prepared last, and the many full batches are worth one more than the
        // tail.
        if (const int64_t last = run_size(batches_.back(), work_); last != first) add_slot(tail_, last);
        const size_t num_slots = std::min(static_cast<size_t>(options.slots), batches_.size() - tail_.size());
        for (size_t i = 0; i < num_slots; ++i) add_slot(slots_, first);
        compute_.synchronise();
    }
    ~DevicePipeline() override { finish(); }
    DevicePipeline(const DevicePipeline&) = delete;
    DevicePipeline& operator=(const DevicePipeline&) = delete;

    void pass(BatchQueue& batches, WindowSource& input, Output& output, PassLog& log) override {
        forget_unfinished();
        if (log.spans != nullptr) find_origin();
        size_t next = 0;
        for (;;) {
            stop_if_interrupted();
            // A batch is taken when there is room for it.
            if (!slots_.empty()) drain(slots_[next], output, log);
            const auto batch = batches.next();
            if (!batch) break;
            Slot& slot = slot_of(*batch, next);  // drained, or the tail's, which is used once
            inject_fault("gather");
            gather(slot, *batch, input, log);
            inject_fault("forward");
            submit(slot);
            if (!options_.overlap) drain(slot, output, log);
        }
        for (size_t i = 0; i < slots_.size(); ++i) drain(slots_[(next + i) % slots_.size()], output, log);
        for (Slot& slot : tail_) drain(slot, output, log);
    }

    double forward_call() override {
        if (batches_.empty()) return 0;
        Slot& slot = slots_.front();
        const int64_t n = run_size(batches_.front(), work_);
        slot.forward_start.record(compute_);
        denoiser_.forward(in_view(slot, n), out_view(slot, n), compute_);
        slot.forward_end.record(compute_);
        slot.forward_end.synchronise();
        return slot.forward_end.seconds_since(slot.forward_start);
    }

    [[nodiscard]] int64_t replay_bytes() const override { return denoiser_.replay_bytes(); }

  private:
    /// Buffers may go only when nothing in flight uses them, also after an error.
    void finish() noexcept {
        for (Stream* stream : {&copy_in_, &compute_, &copy_out_}) try {
                stream->synchronise();
            } catch (const Error&) {  // the device is lost: the error was reported where it was met
            }
    }

    /// Batches of a pass that an error or a signal ended: they are not of this pass, and half of their work may never
    /// have been enqueued.
    void forget_unfinished() {
        for (auto* slots : {&slots_, &tail_})
            for (Slot& slot : *slots)
                if (slot.batch) {
                    finish();
                    slot.batch.reset();
                }
    }

    [[nodiscard]] BatchShapes shapes_of(int64_t n) const {
        return batch_shapes(n, work_.window, channels_, options_.conversion);
    }
    [[nodiscard]] BatchView network_view(void* pointer, const Shape& shape) const {
        return {pointer, shape, storage_of(options_.precision), options_.layout, options_.device};
    }
    [[nodiscard]] BatchView in_view(const Slot& slot, int64_t n) const {
        return network_view(slot.in.pointer(), shapes_of(n).in);
    }
    [[nodiscard]] BatchView out_view(const Slot& slot, int64_t n) const {
        return network_view(slot.out.pointer(), shapes_of(n).out);
    }
    [[nodiscard]] BatchView samples_view(void* pointer, int64_t n) const {
        return {pointer, shapes_of(n).samples, sample_type_, Layout::channels_last, options_.device};
    }

    void add_slot(std::deque<Slot>& slots, int64_t n) {
        const auto shapes = shapes_of(n);
        Slot& slot = slots.emplace_back(options_.device, samples_view(nullptr, n), network_view(nullptr, shapes.in),
                                        network_view(nullptr, shapes.out));
        denoiser_.prepare(in_view(slot, n), out_view(slot, n), compute_);
    }

    /// The tail slot for a batch of another size, else the next one in turn.
    Slot& slot_of(const Range& batch, size_t& next) {
        if (!tail_.empty() && batch.size() != work_.batch) return tail_.front();
        Slot& slot = slots_[next];
        next = (next + 1) % slots_.size();
        return slot;
    }

    void gather(Slot& slot, const Range& batch, WindowSource& input, PassLog& log) {
        StageWatch watch(log, number_of(batch, work_));
        const size_t window_bytes = samples_view(nullptr, 1).bytes();
        for (int64_t i = 0; i < run_size(batch, work_); ++i)
            cut_window(input, work_.task(window_at(batch, i)).seen,
                       slot.pinned_in.pointer() + static_cast<size_t>(i) * window_bytes);
        slot.batch = batch;
        watch.done(Stage::gather);
    }

    void submit(Slot& slot) {
        const int64_t n = run_size(*slot.batch, work_);
        const size_t bytes = samples_view(nullptr, n).bytes();
        slot.copy_in_start.record(copy_in_);
        copy_to_device(slot.device_in.pointer(), slot.pinned_in.pointer(), bytes, copy_in_);
        slot.copy_in_end.record(copy_in_);
        settle(slot.copy_in_end);

        compute_.wait(slot.copy_in_end);
        slot.forward_start.record(compute_);
        samples_to_network(samples_view(slot.device_in.pointer(), n), in_view(slot, n), options_.conversion, compute_);
        denoiser_.forward(in_view(slot, n), out_view(slot, n), compute_);
        network_to_samples(out_view(slot, n), samples_view(slot.device_out.pointer(), n), options_.conversion,
                           compute_);
        slot.forward_end.record(compute_);
        settle(slot.forward_end);

        copy_out_.wait(slot.forward_end);
        slot.copy_out_start.record(copy_out_);
        copy_to_host(slot.pinned_out.pointer(), slot.device_out.pointer(), bytes, copy_out_);
        slot.copy_out_end.record(copy_out_);
    }

    /// With `overlap: off` each stage ends before the next begins.
    void settle(const Event& event) const {
        if (!options_.overlap) event.synchronise();
    }

    /// Waits for the slot's batch, if there is one, and writes its cores.
    void drain(Slot& slot, Output& output, PassLog& log) {
        if (!slot.batch) return;
        slot.copy_out_end.synchronise();
        const int64_t number = number_of(*slot.batch, work_);
        StageWatch watch(log, number);
        const size_t window_bytes = samples_view(nullptr, 1).bytes();
        for (int64_t i = 0; i < slot.batch->size(); ++i)
            write_core(slot.pinned_out.pointer() + static_cast<size_t>(i) * window_bytes,
                       work_.task(slot.batch->begin + i), output);
        watch.done(Stage::scatter);
        add_device_stage(log, {Stage::h2d, number}, slot.copy_in_start, slot.copy_in_end);
        add_device_stage(log, {Stage::forward, number}, slot.forward_start, slot.forward_end);
        add_device_stage(log, {Stage::d2h, number}, slot.copy_out_start, slot.copy_out_end);
        slot.batch.reset();
    }

    /// Where the device's events lie on the host's clock: nothing is in flight yet, so the host sees one as it happens.
    void find_origin() {
        origin_.record(compute_);
        origin_.synchronise();
        origin_s_ = monotonic_seconds();
    }

    /// Its length is that between the events; where it begins is looked up only for spans that are kept.
    void add_device_stage(PassLog& log, Span span, const Event& begin, const Event& end) const {
        if (log.spans != nullptr && !log.spans->is_full()) span.begin_s = origin_s_ + begin.seconds_since(origin_);
        span.end_s = span.begin_s + end.seconds_since(begin);
        add(log, span);
    }

    Denoiser& denoiser_;
    const Work& work_;
    PipelineOptions options_;
    int64_t channels_;
    DType sample_type_;
    Stream copy_in_, compute_, copy_out_;
    Event origin_;  // of the spans
    double origin_s_ = 0;
    std::vector<Range> batches_;
    std::deque<Slot> slots_, tail_;
};

}  // namespace

std::unique_ptr<Pipeline> make_device_pipeline(Denoiser& denoiser, const Work& work, const PipelineOptions& options,
                                               int64_t channels, DType sample_type) {
    return std::make_unique<DevicePipeline>(denoiser, work, options, channels, sample_type);
}

}  // namespace pb
