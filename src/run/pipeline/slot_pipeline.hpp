// The loop of a pass, the same for every device. Note [Slots]: a slot is one batch in flight. While the device works on
// one slot, the host writes the cores of an older slot and cuts the windows of the next one. The host waits only for
// the slot that it is about to use again.
#pragma once

#include "base/thread_pool.hpp"
#include "run/pipeline/slot_device.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::run {

class SlotPipeline final : public Pipeline {
  public:
    /// `work` must outlive it.
    SlotPipeline(std::unique_ptr<SlotDevice> device, const Work& work);

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override;
    double forward_call() override;
    [[nodiscard]] ProfiledCall profiled_call() override;
    [[nodiscard]] int64_t replay_bytes() const override { return device_->replay_bytes(); }
    [[nodiscard]] int process_id() const override { return device_->process_id(); }
    [[nodiscard]] std::optional<double> inner_call_s() const override { return device_->inner_call_s(); }

  private:
    struct Slot {
        size_t number = 0;  // slot number on the device
        SlotMemory memory;
        std::optional<Range> batch;  // the batch in flight
    };

    void add_slot(std::vector<Slot>& slots, int64_t n);
    /// Returns the tail's slot for a batch of another size, else the next slot in turn.
    Slot& slot_of(const Range& batch, size_t& next);
    /// Forgets the batches of a pass that ended with an error or a signal. They do not belong to the next pass, and
    /// some of their work may not have been submitted.
    void forget_unfinished();

    void gather(Slot& slot, const Range& batch, WindowSource& input, PassLog& log);
    /// Tells the device the cores of a batch.
    void set_cores(const Slot& slot, const Range& batch);
    void cut(const Slot& slot, int64_t place, int64_t window, WindowSource& input) const;
    [[nodiscard]] device::Conversion conversion_of(int64_t window) const;
    /// If the slot has a batch, waits for it and writes its cores.
    void drain(Slot& slot, CoreSink& output, PassLog& log);
    void write(const Slot& slot, int64_t place, int64_t window, CoreSink& output) const;
    /// Calls `copy(place)` for each place of a batch of `count` windows: by all threads at once, or in their order.
    template <class Copy>
    void for_places(bool at_once, int64_t count, const Copy& copy);

    std::unique_ptr<SlotDevice> device_;
    DeviceTraits traits_;
    const Work& work_;
    int64_t first_size_ = 0;  // windows in the first batch as it runs
    std::vector<Slot> slots_, tail_;
    Range resident_;           // whose cores those of a resident batch are
    std::vector<Rect> cores_;  // of the batch that is computed
    ThreadPool threads_;       // that cut windows and write cores
};

}  // namespace pb::run
