// Steps of carried rows on a CPU, in fp32: rows are converted while they are cut and while they are written.
#include "engine/memory.hpp"
#include "run/pipeline/step_device.hpp"

namespace pb::run {

namespace {

class HostSteps final : public StepDevice {
  public:
    HostSteps(engine::Denoiser& denoiser, const network::BandSchedule& schedule, const PipelineOptions& options,
              int64_t channels)
        : conversion_(options.conversion),
          in_({}, bytes_of(schedule, schedule.most_input_rows(), channels + (options.conversion.sigma ? 1 : 0))),
          out_({}, bytes_of(schedule, schedule.shape().band, channels)),
          stream_(DeviceId{}),
          pass_(denoiser.make_band_pass(schedule, stream_)) {}

    [[nodiscard]] engine::BandPass& pass() override { return *pass_; }

    void cut(const Rect& rows, WindowSource& input) override {
        cut_window_to_f32(input, rows, conversion_, static_cast<float*>(in_.pointer()));
    }

    void run(int64_t step, StageWatch& watch) override {
        compute(step);
        watch.done(record::Stage::forward);
    }

    void write(const plan::Tile& band, CoreSink& output) override {
        write_core_from_f32(static_cast<const float*>(out_.pointer()), band, conversion_, output);
    }

    void compute(int64_t step) override { pass_->run(step, in_.pointer(), out_.pointer()); }

  private:
    static size_t bytes_of(const network::BandSchedule& schedule, int64_t rows, int64_t channels) {
        return static_cast<size_t>(rows * schedule.shape().image.w * channels) * sizeof(float);
    }

    device::Conversion conversion_;
    engine::EngineBuffer in_, out_;
    device::Stream stream_;
    std::unique_ptr<engine::BandPass> pass_;
};

}  // namespace

std::unique_ptr<StepDevice> make_host_steps(engine::Denoiser& denoiser, const network::BandSchedule& schedule,
                                            const PipelineOptions& options, int64_t channels) {
    return std::make_unique<HostSteps>(denoiser, schedule, options, channels);
}

}  // namespace pb::run
