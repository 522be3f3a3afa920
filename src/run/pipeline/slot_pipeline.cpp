#include "run/pipeline/slot_pipeline.hpp"

#include "base/fault.hpp"
#include "comm/interruption.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

/// The number of the batch on this rank.
int64_t number_of(const Range& batch, const Work& work) { return (batch.begin - work.windows.begin) / work.batch; }

}  // namespace

SlotPipeline::SlotPipeline(std::unique_ptr<SlotDevice> device, const Work& work)
    : device_(std::move(device)), traits_(device_->traits()), work_(work), threads_(traits_.copy_threads) {
    const auto batches = work.batches();
    if (batches.empty()) return;
    first_size_ = work.run_size(batches.front());
    // The tail's slot is prepared first. A denoiser keeps captured graphs only for the shape that was prepared last,
    // and the graph is worth more for the many full batches than for the tail.
    const int64_t last_size = work.run_size(batches.back());
    if (traits_.has_tail_slot && last_size != first_size_) add_slot(tail_, last_size);
    resident_ = work.resident_batch();
    cores_.reserve(static_cast<size_t>(work.batch));  // so that a pass does not allocate
    const size_t num_slots = std::min(static_cast<size_t>(traits_.num_slots), batches.size() - tail_.size());
    for (size_t i = 0; i < num_slots; ++i) add_slot(slots_, first_size_);
}

void SlotPipeline::add_slot(std::vector<Slot>& slots, int64_t n) {
    slots.push_back({tail_.size() + slots_.size(), device_->add_slot(n), {}});
}

void SlotPipeline::pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) {
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

double SlotPipeline::forward_call() {
    if (slots_.empty()) return 0;
    set_cores(slots_.front(), resident_);
    return device_->forward_call(slots_.front().number, first_size_);
}

ProfiledCall SlotPipeline::profiled_call() {
    if (slots_.empty()) return {};
    set_cores(slots_.front(), resident_);
    return device_->profiled_call(slots_.front().number, first_size_);
}

void SlotPipeline::set_cores(const Slot& slot, const Range& batch) {
    cores_.clear();
    for (int64_t place = 0; place < work_.run_size(batch); ++place) cores_.push_back(work_.core_at(batch, place));
    device_->set_cores(slot.number, cores_);
}

SlotPipeline::Slot& SlotPipeline::slot_of(const Range& batch, size_t& next) {
    if (!tail_.empty() && batch.size() != work_.batch) return tail_.front();
    Slot& slot = slots_[next];
    next = (next + 1) % slots_.size();
    return slot;
}

void SlotPipeline::forget_unfinished() {
    for (auto* slots : {&slots_, &tail_})
        for (Slot& slot : *slots)
            if (slot.batch) {
                device_->finish();
                slot.batch.reset();
            }
}

template <class Copy>
void SlotPipeline::for_places(bool at_once, int64_t count, const Copy& copy) {
    const auto run = [&copy](const Range& places, int /*thread*/ = 0) {
        for (int64_t place = places.begin; place < places.end; ++place) copy(place);
    };
    if (at_once && count > 1)
        threads_.run(count, run);
    else
        run({0, count});
}

void SlotPipeline::gather(Slot& slot, const Range& batch, WindowSource& input, PassLog& log) {
    StageWatch watch(log, number_of(batch, work_));
    const int64_t n = work_.run_size(batch);
    for_places(input.is_in_memory(), n, [&](int64_t place) { cut(slot, place, work_.window_at(batch, place), input); });
    device_->after_cutting(slot.number, n);
    slot.batch = batch;
    watch.done(record::Stage::gather);
}

device::Conversion SlotPipeline::conversion_of(int64_t window) const {
    return work_.conversion ? work_.conversion(window) : traits_.fused.value();
}

void SlotPipeline::cut(const Slot& slot, int64_t place, int64_t window, WindowSource& input) const {
    const Rect part = work_.tile(window).window;
    std::byte* const to = slot.memory.in + static_cast<size_t>(place) * traits_.window_in_bytes;
    if (traits_.fused)
        cut_window_to_f32(input, part, conversion_of(window), reinterpret_cast<float*>(to));
    else
        cut_window(input, part, to);
}

void SlotPipeline::drain(Slot& slot, CoreSink& output, PassLog& log) {
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

void SlotPipeline::write(const Slot& slot, int64_t place, int64_t window, CoreSink& output) const {
    const plan::Tile tile = work_.tile(window);
    const std::byte* const from = slot.memory.out + static_cast<size_t>(place) * traits_.window_out_bytes;
    if (traits_.fused)
        write_core_from_f32(reinterpret_cast<const float*>(from), tile, conversion_of(window), output);
    else
        write_core(from, tile, slot.memory.cores == nullptr ? 0 : slot.memory.cores[place].not_finite, output);
}

}  // namespace pb::run
