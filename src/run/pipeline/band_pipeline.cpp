// The pass of one rank over carried rows (Note [Carried rows]): each step takes some rows of the input; when a band of
// the output is complete, it is written as the core of its window. Where the image is cut into strips (Note [Strips]),
// each of them goes through all rows before the next one begins.
#include "base/fault.hpp"
#include "base/stopwatch.hpp"
#include "comm/interruption.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/pipeline/row_device.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

class BandPipeline final : public Pipeline {
  public:
    BandPipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows, const Work& work)
        : work_(work),
          schedule_(*work.bands),
          rows_(std::move(rows)),
          pass_(denoiser.make_band_pass(schedule_, rows_->stream())) {
        pass_->report_layers([this](int64_t done, int64_t all) {
            if (told_ == nullptr) return;
            told_->report_step(steps_done_ * all + done, work_.strips * schedule_.num_steps() * all);
        });
    }
    /// The rows that the pass keeps are in use until then.
    ~BandPipeline() override { rows_->finish(); }
    BandPipeline(const BandPipeline&) = delete;
    BandPipeline& operator=(const BandPipeline&) = delete;

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override {
        told_ = &batches;
        steps_done_ = 0;
        while (const auto batch = batches.next()) {
            const int64_t window = strip_by_strip(batch->begin);
            const plan::Tile band = work_.band(window);
            for (bool is_complete = false; !is_complete; ++steps_done_) is_complete = run_step(window, input, log);
            StageWatch watch(log, window - work_.windows.begin);
            rows_->write(0, 0, band, output);
            watch.done(record::Stage::scatter);
        }
        told_ = nullptr;  // forward calls are no part of a pass
    }

    /// The step that computes most, in proportion to a whole band.
    double forward_call() override {
        const Stopwatch watch;
        pass_->run(schedule_.busiest_step(), rows_->in(), rows_->out());
        rows_->stream().synchronise();
        return watch.seconds() / schedule_.busiest_part();
    }

    [[nodiscard]] int64_t replay_bytes() const override { return pass_->replay_bytes(); }

  private:
    /// The windows of a strip follow one another, unlike those of the rank.
    [[nodiscard]] int64_t strip_by_strip(int64_t window) const {
        const int64_t place = window - work_.windows.begin, bands = work_.windows.size() / work_.strips;
        return work_.windows.begin + place % bands * work_.strips + place / bands;
    }

    /// Whether the next step of the window's strip completes it.
    bool run_step(int64_t window, WindowSource& input, PassLog& log) {
        comm::stop_if_interrupted();
        StageWatch watch(log, window - work_.windows.begin);
        const int64_t step = steps_done_ % schedule_.num_steps();
        inject_fault("gather");
        const plan::Tile band = work_.band(window);
        const Range taken = schedule_.made(step, 0);
        cut(taken, band.window.column, input);
        watch.done(record::Stage::gather);
        inject_fault("forward");
        rows_->send(taken.size(), watch);
        pass_->run(step, rows_->in(), rows_->out());
        const int64_t made = schedule_.made(step, schedule_.computed().size() - 1).size();
        const Rect core = band.core_in_window();
        rows_->receive(made, {&core, 1}, watch);
        return made > 0;
    }

    /// Rows beyond the image are copies of its last one.
    void cut(const Range& rows, int64_t column, WindowSource& input) {
        if (rows.size() == 0) return;
        const int64_t begin = std::min(rows.begin, work_.image_rows - 1);
        rows_->cut({begin, column, {rows.size(), schedule_.shape().image.w}}, input);
    }

    const Work& work_;
    const network::BandSchedule& schedule_;
    std::unique_ptr<RowDevice> rows_;
    std::unique_ptr<engine::BandPass> pass_;
    BatchQueue* told_ = nullptr;  // of the pass that runs
    int64_t steps_done_ = 0;      // in the pass, of all strips
};

}  // namespace

std::unique_ptr<Pipeline> make_band_pipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows,
                                             const Work& work) {
    return std::make_unique<BandPipeline>(denoiser, std::move(rows), work);
}

}  // namespace pb::run
