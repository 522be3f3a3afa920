// Steps of carried rows on a CUDA device.
#include "run/pipeline/device_rows.hpp"
#include "run/pipeline/step_device.hpp"

namespace pb::run {

namespace {

class StreamSteps final : public StepDevice {
  public:
    StreamSteps(engine::Denoiser& denoiser, const network::BandSchedule& schedule, const BatchViews& row)
        : schedule_(schedule),
          rows_(row, schedule.most_input_rows(), schedule.shape().band),
          pass_(denoiser.make_band_pass(schedule, rows_.stream())) {}
    /// The rows that the pass keeps are in use until then.
    ~StreamSteps() override { rows_.finish(); }
    StreamSteps(const StreamSteps&) = delete;
    StreamSteps& operator=(const StreamSteps&) = delete;

    [[nodiscard]] engine::BandPass& pass() override { return *pass_; }

    void cut(const Rect& rows, WindowSource& input) override { rows_.cut(rows, input); }

    void run(int64_t step, const Rect& core, StageWatch& watch) override {
        const size_t output = schedule_.computed().size() - 1;
        if (const int64_t taken = schedule_.made(step, 0).size(); taken > 0) rows_.send(taken, watch);
        pass_->run(step, rows_.in(), rows_.out());
        rows_.receive(schedule_.made(step, output).size(), {&core, 1}, watch);
    }

    void write(const plan::Tile& band, CoreSink& output) override { rows_.write(0, band, output); }

    void compute(int64_t step) override {
        pass_->run(step, rows_.in(), rows_.out());
        rows_.stream().synchronise();
    }

  private:
    const network::BandSchedule& schedule_;
    DeviceRows rows_;
    std::unique_ptr<engine::BandPass> pass_;
};

}  // namespace

std::unique_ptr<StepDevice> make_stream_steps(engine::Denoiser& denoiser, const network::BandSchedule& schedule,
                                              const PipelineOptions& options, int64_t channels, DType sample_type) {
    const BatchViews row{{1, schedule.shape().image.w}, channels, sample_type, options};
    return std::make_unique<StreamSteps>(denoiser, schedule, row);
}

}  // namespace pb::run
