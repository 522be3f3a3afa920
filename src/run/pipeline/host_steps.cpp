// Steps of carried rows on a CPU, in fp32.
#include "run/pipeline/host_rows.hpp"
#include "run/pipeline/step_device.hpp"

namespace pb::run {

namespace {

class HostSteps final : public StepDevice {
  public:
    HostSteps(engine::Denoiser& denoiser, const network::BandSchedule& schedule, const PipelineOptions& options,
              int64_t channels)
        : rows_(options, schedule.shape().image.w, channels, schedule.most_input_rows(), schedule.shape().band),
          stream_(DeviceId{}),
          pass_(denoiser.make_band_pass(schedule, stream_)) {}

    [[nodiscard]] engine::BandPass& pass() override { return *pass_; }

    void cut(const Rect& rows, WindowSource& input) override { rows_.cut(rows, input); }

    void run(int64_t step, const Rect& /*core*/, StageWatch& watch) override {
        compute(step);
        watch.done(record::Stage::forward);
    }

    void write(const plan::Tile& band, CoreSink& output) override { rows_.write(0, band, output); }

    void compute(int64_t step) override { pass_->run(step, rows_.in(), rows_.out()); }

  private:
    HostRows rows_;
    device::Stream stream_;
    std::unique_ptr<engine::BandPass> pass_;
};

}  // namespace

std::unique_ptr<StepDevice> make_host_steps(engine::Denoiser& denoiser, const network::BandSchedule& schedule,
                                            const PipelineOptions& options, int64_t channels) {
    return std::make_unique<HostSteps>(denoiser, schedule, options, channels);
}

}  // namespace pb::run
