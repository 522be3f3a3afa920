// The slab of a rank on its device: its rows before and after the network, and the pass between them. What moves border
// rows between ranks is in slab_pipeline.cpp.
#pragma once

#include "run/pipeline/row_device.hpp"

#include "patchbench/device/stream.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace pb::run {

/// Border rows in memory of the device, exchanged through page-locked memory of the host.
class StagedExchange final : public engine::RowExchange {
  public:
    /// `largest`: bytes of a message. Throws OutOfMemory.
    StagedExchange(device::Stream& stream, size_t largest)
        : stream_(stream), largest_(largest), memory_(stream.device(), std::max<size_t>(1, 4 * largest)) {}

    /// `hosts` exchanges the rows in memory of the host. It must outlive the exchanges that follow.
    void begin(engine::RowExchange& hosts) { hosts_ = &hosts; }
    void start(const BorderRows& above, const BorderRows& below) override {
        there_ = {above, below};
        std::array<BorderRows, 2> here;
        for (size_t side = 0; side < here.size(); ++side) {
            const auto& [sent, received] = there_[side];
            here[side] = {{place(side), sent.size()}, {place(2 + side), received.size()}};
            if (!sent.empty()) device::copy_to_host(place(side), sent.data(), sent.size(), stream_);
        }
        // The rows are here, and those of the exchange before have left this memory.
        stream_.synchronise();
        hosts_->start(here[0], here[1]);
    }

    void finish() override {
        hosts_->finish();
        for (size_t side = 0; side < there_.size(); ++side) {
            const auto& received = there_[side].received;
            if (!received.empty()) device::copy_to_device(received.data(), place(2 + side), received.size(), stream_);
        }
    }

  private:
    [[nodiscard]] std::byte* place(size_t number) const { return memory_.pointer() + number * largest_; }

    device::Stream& stream_;
    size_t largest_;
    device::PinnedBuffer memory_;  // for the rows of each side that are sent, and of each that are received
    engine::RowExchange* hosts_ = nullptr;
    std::array<BorderRows, 2> there_;
};

class SlabRun {
  public:
    /// Border rows of a device go through memory of the host unless the options have `device_borders`. `denoiser` and
    /// `slab` must outlive it. Throws OutOfMemory.
    SlabRun(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, std::unique_ptr<RowDevice> rows,
            const PipelineOptions& options)
        : slab_(slab), rows_(std::move(rows)) {
        if (rows_->is_on_device() && options.device_borders == nullptr)
            staged_.emplace(rows_->stream(), static_cast<size_t>(slab.traffic().largest));
        pass_ = denoiser.make_slab_pass(slab, rows_->stream());
    }

    /// The maps of the pass are in use until then.
    ~SlabRun() { rows_->finish(); }
    SlabRun(const SlabRun&) = delete;
    SlabRun& operator=(const SlabRun&) = delete;

    /// Reads the rows of the input that the slab holds.
    void cut(WindowSource& input) {
        const Range rows = slab_.held(0);  // those beyond the image are copies of its last one
        rows_->cut({rows.begin, 0, {rows.size(), slab_.shape().image.w}}, input);
    }

    /// Runs the network, or enqueues it. `exchange`: moves border rows, null where there are no neighbours.
    void run(engine::RowExchange* exchange, StageWatch& watch) {
        rows_->send(slab_.held(0).size(), watch);
        if (exchange != nullptr && staged_) {
            staged_->begin(*exchange);
            exchange = &*staged_;
        }
        pass_->run(rows_->in(), rows_->out(), exchange);
    }

    /// Waits for the output. `cores`: of the bands that are written, in pixels of the slab.
    void receive(std::span<const Rect> cores, StageWatch& watch) {
        rows_->receive(slab_.shape().rows.size(), cores, watch);
    }

    /// Writes `band`, whose core is `number` of them.
    void write(size_t number, const plan::Tile& band, CoreSink& output) {
        rows_->write(number, band.core.row - slab_.shape().rows.begin, band, output);
    }

    /// The arithmetic alone, without neighbours, and waits for it: for timing.
    void compute() {
        pass_->run(rows_->in(), rows_->out(), nullptr);
        rows_->stream().synchronise();
    }

    /// Where run() enqueues its work.
    [[nodiscard]] device::Stream& stream() { return rows_->stream(); }

  private:
    const network::ExchangedSlab& slab_;
    std::unique_ptr<RowDevice> rows_;
    std::optional<StagedExchange> staged_;
    std::unique_ptr<engine::SlabPass> pass_;
};

}  // namespace pb::run
