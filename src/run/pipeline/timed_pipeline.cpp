// The pipeline of a simulated device. The host does what it does for a CUDA rank: it cuts the windows of a batch into a
// slot, waits for the slot's batch, writes its cores into the output, with as many batches in flight. The device is a
// clock: a batch ends T(b) after the later of its submission and the end of the one before. Waiting is sleeping, so
// many ranks share a core. Nothing is computed or copied: the cores that are written are those of the windows that were
// cut, so each output pixel is the input's, and one that is missing or in the wrong place shows.
#include "run/pipeline/pipelines.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

namespace pb {

namespace {

/// To a time of the monotonic clock, so that waking late does not add up. Throws Interrupted when a signal came.
void sleep_until(double deadline_s) {
    const double whole_s = std::floor(deadline_s);
    const timespec deadline{static_cast<time_t>(whole_s), static_cast<long>((deadline_s - whole_s) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) stop_if_interrupted();
}

struct TimedSlot {
    std::vector<std::byte> samples;  // windows one after the other
    std::optional<Range> batch;      // in flight
    double begin_s = 0, end_s = 0;   // when the device does it, by the monotonic clock
};

class TimedPipeline final : public Pipeline {
  public:
    TimedPipeline(CallSeconds call_seconds, const Work& work, const PipelineOptions& options, size_t pixel_bytes)
        : call_seconds_(std::move(call_seconds)),
          work_(work),
          overlap_(options.overlap),
          window_bytes_(static_cast<size_t>(work.window.pixels()) * pixel_bytes),
          slots_(static_cast<size_t>(options.slots)) {
        if (work.windows.size() == 0) return;
        const int64_t largest =
            work.last_batch == LastBatch::pad ? work.batch : std::min(work.batch, work.windows.size());
        for (TimedSlot& slot : slots_) slot.samples.resize(static_cast<size_t>(largest) * window_bytes_);
    }

    void pass(BatchQueue& batches, WindowSource& input, Output& output, PassLog& log) override {
        for (TimedSlot& slot : slots_) slot.batch.reset();  // of a pass that was interrupted
        device_free_s_ = 0;
        size_t next = 0;
        for (;;) {
            stop_if_interrupted();
            TimedSlot& slot = slots_[next];
            drain(slot, output, log);
            const auto batch = batches.next();
            if (!batch) break;
            gather(slot, *batch, input, log);
            submit(slot);
            if (!overlap_) drain(slot, output, log);
            next = (next + 1) % slots_.size();
        }
        for (size_t i = 0; i < slots_.size(); ++i) drain(slots_[(next + i) % slots_.size()], output, log);
    }

    /// Known without waiting for it.
    double forward_call() override {
        const auto batches = work_.batches();
        return batches.empty() ? 0 : call_seconds_(run_size(batches.front(), work_));
    }

  private:
    void gather(TimedSlot& slot, const Range& batch, WindowSource& input, PassLog& log) {
        StageWatch watch(log, number_of(batch, work_));
        for (int64_t i = 0; i < run_size(batch, work_); ++i)
            cut_window(input, work_.task(window_at(batch, i)).seen,
                       slot.samples.data() + static_cast<size_t>(i) * window_bytes_);
        slot.batch = batch;
        watch.done(Stage::gather);
    }

    void submit(TimedSlot& slot) {
        slot.begin_s = std::max(monotonic_seconds(), device_free_s_);
        slot.end_s = slot.begin_s + call_seconds_(run_size(*slot.batch, work_));
        device_free_s_ = slot.end_s;
    }

    void drain(TimedSlot& slot, Output& output, PassLog& log) {
        if (!slot.batch) return;
        sleep_until(slot.end_s);
        const int64_t number = number_of(*slot.batch, work_);
        StageWatch watch(log, number);
        for (int64_t i = 0; i < slot.batch->size(); ++i)
            write_core(slot.samples.data() + static_cast<size_t>(i) * window_bytes_, work_.task(slot.batch->begin + i),
                       output);
        watch.done(Stage::scatter);
        add(log, {Stage::forward, number, slot.begin_s, slot.end_s});
        slot.batch.reset();
    }

    CallSeconds call_seconds_;
    const Work& work_;
    bool overlap_;
    size_t window_bytes_;
    std::vector<TimedSlot> slots_;
    double device_free_s_ = 0;
};

}  // namespace

std::unique_ptr<Pipeline> make_timed_pipeline(CallSeconds call_seconds, const Work& work,
                                              const PipelineOptions& options, size_t pixel_bytes) {
    return std::make_unique<TimedPipeline>(std::move(call_seconds), work, options, pixel_bytes);
}

}  // namespace pb
