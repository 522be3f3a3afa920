// The pass of one rank over carried rows (Note [Carried rows]): each step takes some rows of the input; when a band of
// the output is complete, it is written as the core of its window. Where the image is cut into strips (Note [Strips]),
// each of them goes through all rows before the next one begins. Where steps are computed: step_device.hpp.
#include "base/fault.hpp"
#include "comm/interruption.hpp"
#include "engine/layer_report.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/pipeline/step_device.hpp"
#include "run/pipeline/stopwatch.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

class BandPipeline final : public Pipeline {
  public:
    BandPipeline(std::unique_ptr<StepDevice> device, const Work& work)
        : device_(std::move(device)), work_(work), schedule_(*work.bands) {
        auto* const report = dynamic_cast<engine::LayerReport*>(&device_->pass());
        if (report == nullptr) return;
        report->report_layers([this](int64_t done, int64_t all) {
            if (told_ == nullptr) return;
            told_->report_step(steps_done_ * all + done, work_.strips * schedule_.num_steps() * all);
        });
    }

    void pass(BatchQueue& batches, WindowSource& input, CoreSink& output, PassLog& log) override {
        told_ = &batches;
        steps_done_ = 0;
        while (const auto batch = batches.next()) {
            const int64_t window = strip_by_strip(batch->begin);
            const plan::Tile band = work_.band(window);
            for (bool is_complete = false; !is_complete; ++steps_done_) is_complete = run_step(window, input, log);
            StageWatch watch(log, window - work_.windows.begin);
            device_->write(band, output);
            watch.done(record::Stage::scatter);
        }
        told_ = nullptr;  // forward calls are no part of a pass
    }

    /// The step that computes most, in proportion to a whole band.
    double forward_call() override {
        const Stopwatch watch;
        device_->compute(schedule_.busiest_step());
        return watch.seconds() / schedule_.busiest_part();
    }

    [[nodiscard]] int64_t replay_bytes() const override { return device_->pass().replay_bytes(); }

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
        cut(schedule_.made(step, 0), band.window.column, input);
        watch.done(record::Stage::gather);
        inject_fault("forward");
        device_->run(step, band.core_in_window(), watch);
        return schedule_.made(step, schedule_.computed().size() - 1).size() > 0;
    }

    /// Rows beyond the image are copies of its last one.
    void cut(const Range& rows, int64_t column, WindowSource& input) {
        if (rows.size() == 0) return;
        const int64_t begin = std::min(rows.begin, work_.image_rows - 1);
        device_->cut({begin, column, {rows.size(), schedule_.shape().image.w}}, input);
    }

    std::unique_ptr<StepDevice> device_;
    const Work& work_;
    const network::BandSchedule& schedule_;
    BatchQueue* told_ = nullptr;  // of the pass that runs
    int64_t steps_done_ = 0;      // in the pass, of all strips
};

}  // namespace

std::unique_ptr<Pipeline> make_band_pipeline(engine::Denoiser& denoiser, const Work& work,
                                             const PipelineOptions& options, int64_t channels) {
    return std::make_unique<BandPipeline>(make_host_steps(denoiser, *work.bands, options, channels), work);
}

std::unique_ptr<Pipeline> make_device_band_pipeline(engine::Denoiser& denoiser, const Work& work,
                                                    const PipelineOptions& options, int64_t channels,
                                                    DType sample_type) {
    auto steps = make_stream_steps(denoiser, *work.bands, options, channels, sample_type);
    return std::make_unique<BandPipeline>(std::move(steps), work);
}

}  // namespace pb::run
