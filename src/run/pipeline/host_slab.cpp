// A slab on a CPU, in fp32: rows are converted while they are cut and while they are written.
#include "engine/memory.hpp"
#include "run/pipeline/slab_device.hpp"

namespace pb::run {

namespace {

class HostSlab final : public SlabDevice {
  public:
    HostSlab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, const PipelineOptions& options,
             int64_t channels)
        : conversion_(options.conversion),
          out_row_floats_(slab.shape().image.w * channels),
          in_({}, bytes_of(slab, slab.held(0).size(), channels + (options.conversion.sigma ? 1 : 0))),
          out_({}, bytes_of(slab, slab.shape().rows.size(), channels)),
          stream_(DeviceId{}),
          pass_(denoiser.make_slab_pass(slab, stream_)) {}

    void cut(const Rect& rows, WindowSource& input) override {
        cut_window_to_f32(input, rows, conversion_, static_cast<float*>(in_.pointer()));
    }

    void run(engine::RowExchange* exchange, StageWatch& watch) override {
        pass_->run(in_.pointer(), out_.pointer(), exchange);
        watch.done(record::Stage::forward);
    }

    void write(int64_t row, const plan::Tile& band, CoreSink& output) override {
        const float* const first = static_cast<const float*>(out_.pointer()) + row * out_row_floats_;
        write_core_from_f32(first, band, conversion_, output);
    }

    void compute() override { pass_->run(in_.pointer(), out_.pointer(), nullptr); }

  private:
    static size_t bytes_of(const network::ExchangedSlab& slab, int64_t rows, int64_t channels) {
        return static_cast<size_t>(rows * slab.shape().image.w * channels) * sizeof(float);
    }

    device::Conversion conversion_;
    int64_t out_row_floats_;
    engine::EngineBuffer in_, out_;
    device::Stream stream_;
    std::unique_ptr<engine::SlabPass> pass_;
};

}  // namespace

std::unique_ptr<SlabDevice> make_host_slab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab,
                                           const PipelineOptions& options, int64_t channels) {
    return std::make_unique<HostSlab>(denoiser, slab, options, channels);
}

}  // namespace pb::run
