// Steps of carried rows on a CUDA device: samples go there, are converted, go through the network and come back, all on
// one stream. Each stage ends before the next one begins, so nothing overlaps. Never run on a GPU so far; on the fake
// CUDA runtime of the tests and, inline, on the CPU it gives the bits of host_steps.cpp.
#include "engine/memory.hpp"
#include "run/pipeline/slot_device.hpp"
#include "run/pipeline/step_device.hpp"

#include "patchbench/base/error.hpp"

namespace pb::run {

namespace {

class StreamSteps final : public StepDevice {
  public:
    StreamSteps(engine::Denoiser& denoiser, const network::BandSchedule& schedule, const BatchViews& band)
        : schedule_(schedule),
          output_(schedule.computed().size() - 1),
          band_(band),
          pinned_in_(band.options.device, samples_of(taken_rows(), nullptr).bytes()),
          pinned_out_(band.options.device, samples_of(made_rows(), nullptr).bytes()),
          device_in_(band.options.device, samples_of(taken_rows(), nullptr).bytes()),
          device_out_(band.options.device, samples_of(made_rows(), nullptr).bytes()),
          in_(band.options.device, views_of(taken_rows()).in(nullptr, 1).bytes()),
          out_(band.options.device, views_of(made_rows()).out(nullptr, 1).bytes()),
          stream_(band.options.device),
          pass_(denoiser.make_band_pass(schedule, stream_)) {}
    /// Waits for what an exception has left in flight before memory is freed.
    ~StreamSteps() override {
        try {
            stream_.synchronise();
        } catch (const Error&) {  // the device is lost; the error has already been reported
        }
    }
    StreamSteps(const StreamSteps&) = delete;
    StreamSteps& operator=(const StreamSteps&) = delete;

    [[nodiscard]] engine::BandPass& pass() override { return *pass_; }

    void cut(const Rect& rows, WindowSource& input) override {
        stream_.synchronise();  // a pass that was broken off may still read them
        cut_window(input, rows, pinned_in_.pointer());
    }

    void run(int64_t step, StageWatch& watch) override {
        const int64_t taken = schedule_.made(step, 0).size(), made = schedule_.made(step, output_).size();
        if (taken > 0) {
            const BatchView samples = samples_of(taken, device_in_.pointer());
            device::copy_to_device(samples.pointer, pinned_in_.pointer(), samples.bytes(), stream_);
            end(record::Stage::h2d, watch);
            device::samples_to_network(samples, views_of(taken).in(in_.pointer(), 1), band_.options.conversion,
                                       stream_);
        }
        pass_->run(step, in_.pointer(), out_.pointer());
        const BatchView samples = samples_of(made, device_out_.pointer());
        if (made > 0)
            device::network_to_samples(views_of(made).out(out_.pointer(), 1), samples, band_.options.conversion,
                                       stream_);
        end(record::Stage::forward, watch);
        if (made == 0) return;
        device::copy_to_host(pinned_out_.pointer(), samples.pointer, samples.bytes(), stream_);
        end(record::Stage::d2h, watch);
    }

    void write(const plan::Tile& band, CoreSink& output) override { write_core(pinned_out_.pointer(), band, output); }

    void compute(int64_t step) override {
        pass_->run(step, in_.pointer(), out_.pointer());
        stream_.synchronise();
    }

  private:
    [[nodiscard]] int64_t taken_rows() const { return schedule_.most_input_rows(); }
    [[nodiscard]] int64_t made_rows() const { return schedule_.shape().band; }

    /// Of the first `rows` rows.
    [[nodiscard]] BatchViews views_of(int64_t rows) const {
        BatchViews views = band_;
        views.window.h = rows;
        return views;
    }
    [[nodiscard]] BatchView samples_of(int64_t rows, void* pointer) const { return views_of(rows).samples(pointer, 1); }

    void end(record::Stage stage, StageWatch& watch) {
        stream_.synchronise();
        watch.done(stage);
    }

    const network::BandSchedule& schedule_;
    size_t output_;    // operation
    BatchViews band_;  // of the whole width
    device::PinnedBuffer pinned_in_, pinned_out_;
    engine::EngineBuffer device_in_, device_out_, in_, out_;
    device::Stream stream_;
    std::unique_ptr<engine::BandPass> pass_;
};

}  // namespace

std::unique_ptr<StepDevice> make_stream_steps(engine::Denoiser& denoiser, const network::BandSchedule& schedule,
                                              const PipelineOptions& options, int64_t channels, DType sample_type) {
    const BatchViews band{{schedule.shape().band, schedule.shape().image.w}, channels, sample_type, options};
    return std::make_unique<StreamSteps>(denoiser, schedule, band);
}

}  // namespace pb::run
