// A slab on a CPU, in fp32.
#include "run/pipeline/host_rows.hpp"
#include "run/pipeline/slab_device.hpp"

namespace pb::run {

namespace {

class HostSlab final : public SlabDevice {
  public:
    HostSlab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, const PipelineOptions& options,
             int64_t channels)
        : first_row_(slab.shape().rows.begin),
          rows_(options, slab.shape().image.w, channels, slab.held(0).size(), slab.shape().rows.size()),
          stream_(DeviceId{}),
          pass_(denoiser.make_slab_pass(slab, stream_)) {}

    void cut(const Rect& rows, WindowSource& input) override { rows_.cut(rows, input); }

    void run(engine::RowExchange* exchange, StageWatch& /*watch*/) override {
        pass_->run(rows_.in(), rows_.out(), exchange);
    }

    void receive(std::span<const Rect> /*cores*/, StageWatch& watch) override { watch.done(record::Stage::forward); }

    void write(size_t /*number*/, const plan::Tile& band, CoreSink& output) override {
        rows_.write(band.core.row - first_row_, band, output);
    }

    void compute() override { pass_->run(rows_.in(), rows_.out(), nullptr); }

    [[nodiscard]] device::Stream& stream() override { return stream_; }

  private:
    int64_t first_row_;  // of the slab
    HostRows rows_;
    device::Stream stream_;
    std::unique_ptr<engine::SlabPass> pass_;
};

}  // namespace

std::unique_ptr<SlabDevice> make_host_slab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab,
                                           const PipelineOptions& options, int64_t channels) {
    return std::make_unique<HostSlab>(denoiser, slab, options, channels);
}

}  // namespace pb::run
