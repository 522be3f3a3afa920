// The slab of a rank on its device: its rows before and after the network, and the pass between them. What moves border
// rows between ranks is in slab_pipeline.cpp.
#pragma once

#include "run/pipeline/row_device.hpp"

#include "patchbench/device/buffer.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>

namespace pb::run {

/// Border rows in memory of the device, exchanged through page-locked memory of the host.
class StagedExchange final : public engine::RowExchange {
  public:
    /// `largest`: bytes of a message. Throws OutOfMemory.
    StagedExchange(device::Stream& stream, size_t largest);

    /// `hosts` exchanges the rows in memory of the host. It must outlive the exchanges that follow.
    void begin(engine::RowExchange& hosts) { hosts_ = &hosts; }
    void start(const engine::BorderRows& above, const engine::BorderRows& below) override;
    void finish() override;

  private:
    [[nodiscard]] std::byte* place(size_t number) const { return memory_.pointer() + number * largest_; }

    device::Stream& stream_;
    size_t largest_;
    device::PinnedBuffer memory_;  // for the rows of each side that are sent, and of each that are received
    engine::RowExchange* hosts_ = nullptr;
    std::array<engine::BorderRows, 2> there_;
};

class SlabRun {
  public:
    /// Border rows of a device go through memory of the host unless the options have `device_borders`. `denoiser` and
    /// `slab` must outlive it. Throws OutOfMemory.
    SlabRun(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, std::unique_ptr<RowDevice> rows,
            const PipelineOptions& options);
    /// The maps of the pass are in use until then.
    ~SlabRun() { rows_->finish(); }
    SlabRun(const SlabRun&) = delete;
    SlabRun& operator=(const SlabRun&) = delete;

    /// Reads the rows of the input that the slab holds.
    void cut(WindowSource& input);
    /// Runs the network, or enqueues it. `exchange`: moves border rows, null where there are no neighbours.
    void run(engine::RowExchange* exchange, StageWatch& watch);
    /// Waits for the output. `cores`: of the bands that are written, in pixels of the slab.
    void receive(std::span<const Rect> cores, StageWatch& watch);
    /// Writes `band`, whose core is `number` of them.
    void write(size_t number, const plan::Tile& band, CoreSink& output);
    /// The arithmetic alone, without neighbours, and waits for it: for timing.
    void compute();
    /// Where run() enqueues its work.
    [[nodiscard]] device::Stream& stream() { return rows_->stream(); }

  private:
    const network::ExchangedSlab& slab_;
    std::unique_ptr<RowDevice> rows_;
    std::optional<StagedExchange> staged_;
    std::unique_ptr<engine::SlabPass> pass_;
};

}  // namespace pb::run
