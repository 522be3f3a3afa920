// The pass of one rank over its slab (Note [Exchanged rows]): the rows of the slab are read, go through the network
// together with the slabs of the other ranks, and are written band by band.
#include "base/fault.hpp"
#include "base/stopwatch.hpp"
#include "comm/interruption.hpp"
#include "comm/rows/border_channel.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/pipeline/slab_run.hpp"

#include "patchbench/base/error.hpp"

#include <utility>
#include <vector>

namespace pb::run {

namespace {

/// Slabs are on the first ranks, in their order.
comm::NeighbourRanks neighbours_of(const network::ExchangedSlab& slab, const comm::Communicator& ranks) {
    comm::NeighbourRanks neighbours;
    if (slab.has_neighbour(network::Side::above)) neighbours.above = ranks.rank() - 1;
    if (slab.has_neighbour(network::Side::below)) neighbours.below = ranks.rank() + 1;
    return neighbours;
}

/// The cores of its bands, in pixels of the slab, which has all columns.
std::vector<Rect> cores_of(const Work& work) {
    std::vector<Rect> cores;
    for (int64_t window = work.windows.begin; window < work.windows.end; ++window) {
        cores.push_back(work.tile(window).core);
        cores.back().row -= work.slab->shape().rows.begin;
    }
    return cores;
}

/// Border rows as a channel carries them. Waiting in the channel counts as the stage exchange, what lies between as
/// forward. Each exchange is a step of the pass that `batches` reports.
class BorderExchange final : public engine::RowExchange {
  public:
    BorderExchange(comm::BorderChannel& channel, StageWatch& watch, BatchQueue& batches, int64_t num_exchanges)
        : channel_(channel), watch_(watch), batches_(batches), num_exchanges_(num_exchanges) {}

    void start(const BorderRows& above, const BorderRows& below) override {
        comm::stop_if_interrupted();
        inject_fault("exchange");
        channel_.start(above, below);
        batches_.report_step(++num_started_, num_exchanges_);
    }

    void finish() override {
        watch_.done(record::Stage::forward);
        channel_.finish();
        watch_.done(record::Stage::exchange);
    }

  private:
    comm::BorderChannel& channel_;
    StageWatch& watch_;
    BatchQueue& batches_;
    int64_t num_exchanges_, num_started_ = 0;
};

class SlabPipeline final : public Pipeline {
  public:
    SlabPipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows, const Work& work,
                 const PipelineOptions& options)
        : work_(work),
          slab_(*work.slab),
          run_(denoiser, slab_, std::move(rows), options),
          cores_(cores_of(work)),
          neighbours_(neighbours_of(slab_, *options.ranks)),
          channel_(open_channel(options)) {}

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override {
        channel_->begin_pass(neighbours_.are_none() ? 0 : std::ssize(slab_.travelling()));
        try {
            run_pass(batches, input, output, log);
        } catch (...) {
            channel_->give_up();
            throw;
        }
    }

    /// The arithmetic of the slab, without its neighbours, in proportion to a whole window.
    double forward_call() override {
        const Stopwatch watch;
        run_.compute();
        return watch.seconds() * static_cast<double>(work_.window.h) / static_cast<double>(slab_.shape().rows.size());
    }

    [[nodiscard]] int64_t border_bytes() const override { return channel_->bytes_sent(); }

  private:
    [[nodiscard]] std::unique_ptr<comm::BorderChannel> open_channel(const PipelineOptions& options) {
        if (options.device_borders != nullptr) return options.device_borders->open(neighbours_, run_.stream());
        return std::make_unique<comm::Neighbours>(*options.ranks, neighbours_,
                                                  static_cast<size_t>(slab_.traffic().largest));
    }

    void run_pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) {
        compute(batches, input, log);
        while (const auto batch = batches.next()) {
            comm::stop_if_interrupted();
            const int64_t number = batch->begin - work_.windows.begin;
            StageWatch watch(log, number);
            run_.write(static_cast<size_t>(number), work_.band(batch->begin), output);
            watch.done(record::Stage::scatter);
        }
    }

    void compute(BatchQueue& batches, WindowSource& input, PassLog& log) {
        comm::stop_if_interrupted();
        StageWatch watch(log, 0);
        inject_fault("gather");
        run_.cut(input);
        watch.done(record::Stage::gather);
        inject_fault("forward");
        BorderExchange exchange(*channel_, watch, batches, std::ssize(slab_.travelling()));
        run_.run(neighbours_.are_none() ? nullptr : &exchange, watch);
        channel_->finish_pass();
        run_.receive(cores_, watch);
    }

    const Work& work_;
    const network::ExchangedSlab& slab_;
    SlabRun run_;
    std::vector<Rect> cores_;  // of the bands, in pixels of the slab
    comm::NeighbourRanks neighbours_;
    std::unique_ptr<comm::BorderChannel> channel_;
};

}  // namespace

std::unique_ptr<Pipeline> make_slab_pipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows,
                                             const Work& work, const PipelineOptions& options) {
    require(options.ranks != nullptr, "a slab needs the ranks of its neighbours");
    return std::make_unique<SlabPipeline>(denoiser, std::move(rows), work, options);
}

}  // namespace pb::run
