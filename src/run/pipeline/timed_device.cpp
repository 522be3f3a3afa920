// A simulated device: a clock. A batch ends T(b) after its submission, or after the end of the previous batch if that
// is later. The device sleeps while it waits, so many ranks can share a core. Nothing is computed or copied: the cores
// that are written are those of the windows that were cut. Each output pixel therefore equals the input's, and a
// missing or misplaced pixel is detected.
#include "base/stopwatch.hpp"
#include "comm/interruption.hpp"
#include "run/pipeline/slot_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <deque>
#include <utility>
#include <vector>

namespace pb::run {

namespace {

/// Sleeps until a time of the monotonic clock, so that late wake-ups do not accumulate. Throws Interrupted after a
/// signal.
void sleep_until(double deadline_s) {
    const double whole_s = std::floor(deadline_s);
    const timespec deadline{static_cast<time_t>(whole_s), static_cast<long>((deadline_s - whole_s) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) comm::stop_if_interrupted();
}

struct TimedSlot {
    std::vector<std::byte> samples;
    double begin_s = 0, end_s = 0;  // when the device works on the slot, monotonic clock
};

class TimedDevice final : public SlotDevice {
  public:
    TimedDevice(CallSeconds call_seconds, const PipelineOptions& options, size_t window_bytes)
        : call_seconds_(std::move(call_seconds)), traits_{options.slots, options.overlap, true, {},
                                                          window_bytes,  window_bytes} {}

    [[nodiscard]] DeviceTraits traits() const override { return traits_; }

    [[nodiscard]] SlotMemory add_slot(int64_t n) override {
        auto& samples = slots_.emplace_back().samples;
        samples.resize(static_cast<size_t>(n) * traits_.window_in_bytes);
        return {samples.data(), samples.data()};
    }

    void begin_pass(const PassLog& /*log*/) override { free_s_ = 0; }

    void submit(size_t number, int64_t n) override {
        TimedSlot& slot = slots_[number];
        slot.begin_s = std::max(monotonic_seconds(), free_s_);
        slot.end_s = slot.begin_s + call_seconds_(n);
        free_s_ = slot.end_s;
    }

    void wait(size_t number, int64_t batch, PassLog& log) override {
        const TimedSlot& slot = slots_[number];
        sleep_until(slot.end_s);
        add(log, {record::Stage::forward, batch, slot.begin_s, slot.end_s});
    }

    /// Returns the configured time without waiting.
    double forward_call(size_t /*slot*/, int64_t n) override { return call_seconds_(n); }

  private:
    CallSeconds call_seconds_;
    DeviceTraits traits_;
    std::deque<TimedSlot> slots_;
    double free_s_ = 0;  // when the device has finished all submitted work
};

}  // namespace

std::unique_ptr<Pipeline> make_timed_pipeline(CallSeconds call_seconds, const Work& work,
                                              const PipelineOptions& options, size_t pixel_bytes) {
    const size_t window_bytes = static_cast<size_t>(work.window.pixels()) * pixel_bytes;
    return make_slot_pipeline(std::make_unique<TimedDevice>(std::move(call_seconds), options, window_bytes), work);
}

}  // namespace pb::run
