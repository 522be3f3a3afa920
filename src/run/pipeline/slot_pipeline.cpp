#include "base/fault.hpp"
#include "base/thread_pool.hpp"
#include "comm/interruption.hpp"
#include "run/pipeline/slot_device.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

/// The number of the batch on this rank.
int64_t number_of(const Range& batch, const Work& work) { return (batch.begin - work.windows.begin) / work.batch; }

/// Note [Slots]: a slot is one batch in flight. While the device works on one slot, the host writes the cores of an
/// older slot and cuts the windows of the next one. The host waits only for the slot that it is about to use again.
class SlotPipeline final : public Pipeline {
  public:
    SlotPipeline(std::unique_ptr<SlotDevice> device, const Work& work)
        : device_(std::move(device)), traits_(device_->traits()), work_(work), threads_(traits_.copy_threads) {
        const auto batches = work.batches();
        if (batches.empty()) return;
        first_size_ = work.run_size(batches.front());
        // The tail's slot is prepared first. A denoiser keeps captured graphs only for the shape that was prepared
        // last, and the graph is worth more for the many full batches than for the tail.
        const int64_t last_size = work.run_size(batches.back());
        if (traits_.has_tail_slot && last_size != first_size_) add_slot(tail_, last_size);
        resident_ = work.resident_batch();
        cores_.reserve(static_cast<size_t>(work.batch));  // so that a pass does not allocate
        const size_t num_slots = std::min(static_cast<size_t>(traits_.num_slots), batches.size() - tail_.size());
        for (size_t i = 0; i < num_slots; ++i) add_slot(slots_, first_size_);
    }

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override {
        forget_unfinished();
        device_->begin_pass(log);
        size_t next = 0;
        for (;;) {
            comm::stop_if_interrupted();
            // Take a batch only when a slot is free.
            if (!slots_.empty()) drain(slots_[next], output, log);
            const auto batch = batches.next();
            if (!batch) break;
            Slot& slot = slot_of(*batch, next);  // drained above; the slot of the tail is used once per pass
            inject_fault("gather");
            gather(slot, *batch, input, log);
            inject_fault("forward");
            set_cores(slot, *batch);
            device_->submit(slot.number, work_.run_size(*batch));
            if (!traits_.overlap) drain(slot, output, log);
        }
        for (size_t i = 0; i < slots_.size(); ++i) drain(slots_[(next + i) % slots_.size()], output, log);
        for (Slot& slot : tail_) drain(slot, output, log);
    }

    double forward_call() override {
        if (slots_.empty()) return 0;
        set_cores(slots_.front(), resident_);
        return device_->forward_call(slots_.front().number, first_size_);
    }

    [[nodiscard]] ProfiledCall profiled_call() override {
        if (slots_.empty()) return {};
        set_cores(slots_.front(), resident_);
        return device_->profiled_call(slots_.front().number, first_size_);
    }

    [[nodiscard]] int64_t replay_bytes() const override { return device_->replay_bytes(); }

  private:
    struct Slot {
        size_t number = 0;  // slot number on the device
        SlotMemory memory;
        std::optional<Range> batch;  // the batch in flight
    };

    void add_slot(std::vector<Slot>& slots, int64_t n) {
        slots.push_back({tail_.size() + slots_.size(), device_->add_slot(n), {}});
    }

    /// Tells the device the cores of a batch.
    void set_cores(const Slot& slot, const Range& batch) {
        cores_.clear();
        for (int64_t place = 0; place < work_.run_size(batch); ++place) cores_.push_back(work_.core_at(batch, place));
        device_->set_cores(slot.number, cores_);
    }

    /// Returns the tail's slot for a batch of another size, else the next slot in turn.
    Slot& slot_of(const Range& batch, size_t& next) {
        if (!tail_.empty() && batch.size() != work_.batch) return tail_.front();
        Slot& slot = slots_[next];
        next = (next + 1) % slots_.size();
        return slot;
    }

    /// Forgets the batches of a pass that ended with an error or a signal. They do not belong to the next pass, and
    /// some of their work may not have been submitted.
    void forget_unfinished() {
        for (auto* slots : {&slots_, &tail_})
            for (Slot& slot : *slots)
                if (slot.batch) {
                    device_->finish();
                    slot.batch.reset();
                }
    }

    /// Calls `copy(place)` for each place of a batch of `count` windows: by all threads at once, or in their order.
    template <class Copy>
    void for_places(bool at_once, int64_t count, const Copy& copy) {
        const auto run = [&copy](const Range& places, int /*thread*/ = 0) {
            for (int64_t place = places.begin; place < places.end; ++place) copy(place);
        };
        if (at_once && count > 1)
            threads_.run(count, run);
        else
            run({0, count});
    }

    void gather(Slot& slot, const Range& batch, WindowSource& input, PassLog& log) {
        StageWatch watch(log, number_of(batch, work_));
        const int64_t n = work_.run_size(batch);
        for_places(input.is_in_memory(), n,
                   [&](int64_t place) { cut(slot, place, work_.window_at(batch, place), input); });
        device_->after_cutting(slot.number, n);
        slot.batch = batch;
        watch.done(record::Stage::gather);
    }

    [[nodiscard]] device::Conversion conversion_of(int64_t window) const {
        return work_.conversion ? work_.conversion(window) : traits_.fused.value();
    }

    void cut(const Slot& slot, int64_t place, int64_t window, WindowSource& input) const {
        const Rect part = work_.tile(window).window;
        std::byte* const to = slot.memory.in + static_cast<size_t>(place) * traits_.window_in_bytes;
        if (traits_.fused)
            cut_window_to_f32(input.read(part), part, conversion_of(window), reinterpret_cast<float*>(to));
        else
            cut_window(input.read(part), part, to);
    }

    /// If the slot has a batch, waits for it and writes its cores.
    void drain(Slot& slot, CoreSink& output, PassLog& log) {
        if (!slot.batch) return;
        const int64_t number = number_of(*slot.batch, work_);
        device_->wait(slot.number, number, log);
        StageWatch watch(log, number);
        device_->before_writing(slot.number, work_.run_size(*slot.batch));
        for_places(output.is_in_memory(), slot.batch->size(),
                   [&](int64_t place) { write(slot, place, slot.batch->begin + place, output); });
        watch.done(record::Stage::scatter);
        slot.batch.reset();
    }

    void write(const Slot& slot, int64_t place, int64_t window, CoreSink& output) const {
        const plan::Tile tile = work_.tile(window);
        const std::byte* const from = slot.memory.out + static_cast<size_t>(place) * traits_.window_out_bytes;
        if (traits_.fused)
            write_core_from_f32(reinterpret_cast<const float*>(from), tile, conversion_of(window), output);
        else
            write_core(from, tile, slot.memory.cores == nullptr ? 0 : slot.memory.cores[place].not_finite, output);
    }

    std::unique_ptr<SlotDevice> device_;
    DeviceTraits traits_;
    const Work& work_;
    int64_t first_size_ = 0;  // windows in the first batch as it runs
    std::vector<Slot> slots_, tail_;
    Range resident_;           // whose cores those of a resident batch are
    std::vector<Rect> cores_;  // of the batch that is computed
    ThreadPool threads_;       // that cut windows and write cores
};

}  // namespace

std::unique_ptr<Pipeline> make_slot_pipeline(std::unique_ptr<SlotDevice> device, const Work& work) {
    return std::make_unique<SlotPipeline>(std::move(device), work);
}

}  // namespace pb::run
