#include "run/pipeline/slab_run.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

StagedExchange::StagedExchange(device::Stream& stream, size_t largest)
    : stream_(stream), largest_(largest), memory_(stream.device(), std::max<size_t>(1, 4 * largest)) {}

void StagedExchange::start(const engine::BorderRows& above, const engine::BorderRows& below) {
    there_ = {above, below};
    std::array<engine::BorderRows, 2> here;
    for (size_t side = 0; side < here.size(); ++side) {
        const auto& [sent, received] = there_[side];
        here[side] = {{place(side), sent.size()}, {place(2 + side), received.size()}};
        if (!sent.empty()) device::copy_to_host(place(side), sent.data(), sent.size(), stream_);
    }
    // The rows are here, and those of the exchange before have left this memory.
    stream_.synchronise();
    hosts_->start(here[0], here[1]);
}

void StagedExchange::finish() {
    hosts_->finish();
    for (size_t side = 0; side < there_.size(); ++side) {
        const auto& received = there_[side].received;
        if (!received.empty()) device::copy_to_device(received.data(), place(2 + side), received.size(), stream_);
    }
}

SlabRun::SlabRun(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, std::unique_ptr<RowDevice> rows,
                 const PipelineOptions& options)
    : slab_(slab), rows_(std::move(rows)) {
    if (rows_->is_on_device() && options.device_borders == nullptr)
        staged_.emplace(rows_->stream(), static_cast<size_t>(slab.traffic().largest));
    pass_ = denoiser.make_slab_pass(slab, rows_->stream());
}

void SlabRun::cut(WindowSource& input) {
    const Range rows = slab_.held(0);  // those beyond the image are copies of its last one
    rows_->cut({rows.begin, 0, {rows.size(), slab_.shape().image.w}}, input);
}

void SlabRun::run(engine::RowExchange* exchange, StageWatch& watch) {
    rows_->send(slab_.held(0).size(), watch);
    if (exchange != nullptr && staged_) {
        staged_->begin(*exchange);
        exchange = &*staged_;
    }
    pass_->run(rows_->in(), rows_->out(), exchange);
}

void SlabRun::receive(std::span<const Rect> cores, StageWatch& watch) {
    rows_->receive(slab_.shape().rows.size(), cores, watch);
}

void SlabRun::write(size_t number, const plan::Tile& band, CoreSink& output) {
    rows_->write(number, band.core.row - slab_.shape().rows.begin, band, output);
}

void SlabRun::compute() {
    pass_->run(rows_->in(), rows_->out(), nullptr);
    rows_->stream().synchronise();
}

}  // namespace pb::run
