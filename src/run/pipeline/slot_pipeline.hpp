// The loop of a pass, the same for every device. Note [Slots]: a slot is one batch in flight. While the device works on
// one slot, the host writes the cores of an older one and cuts the windows of the next. The host waits for one thing
// only: the end of the slot that it is about to use again.
#pragma once

#include "run/pipeline/slot_device.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb {

class SlotPipeline final : public Pipeline {
  public:
    /// `work` must outlive it.
    SlotPipeline(std::unique_ptr<SlotDevice> device, const Work& work);

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override;
    double forward_call() override;
    [[nodiscard]] int64_t replay_bytes() const override { return device_->replay_bytes(); }

  private:
    struct Slot {
        size_t number = 0;  // of the device
        SlotMemory memory;
        std::optional<Range> batch;  // in flight
    };

    void add_slot(std::vector<Slot>& slots, int64_t n);
    /// The tail's slot for a batch of another size, else the next one in turn.
    Slot& slot_of(const Range& batch, size_t& next);
    /// Batches of a pass that an error or a signal ended: they are not part of the next pass, and half of their work
    /// may never have been submitted.
    void forget_unfinished();

    void gather(Slot& slot, const Range& batch, WindowSource& input, PassLog& log);
    void cut(const Slot& slot, int64_t place, const Rect& window, WindowSource& input) const;
    /// Waits for the slot's batch, if there is one, and writes its cores.
    void drain(Slot& slot, CoreSink& output, PassLog& log);
    void write(const Slot& slot, int64_t place, const Tile& tile, CoreSink& output) const;

    std::unique_ptr<SlotDevice> device_;
    DeviceTraits traits_;
    const Work& work_;
    int64_t first_size_ = 0;  // windows that the first batch runs
    std::vector<Slot> slots_, tail_;
};

}  // namespace pb
