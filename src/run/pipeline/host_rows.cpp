#include "engine/memory.hpp"
#include "run/pipeline/row_device.hpp"

namespace pb::run {

namespace {

class HostRows final : public RowDevice {
  public:
    HostRows(const PipelineOptions& options, const RowRoom& room)
        : conversion_(options.conversion),
          out_row_floats_(room.width * room.channels),
          in_({}, bytes_of(room.taken * room.width * (room.channels + (options.conversion.sigma ? 1 : 0)))),
          out_({}, bytes_of(room.made * out_row_floats_)),
          stream_(DeviceId{}) {}

    [[nodiscard]] device::Stream& stream() override { return stream_; }
    [[nodiscard]] const void* in() const override { return in_.pointer(); }
    [[nodiscard]] void* out() const override { return out_.pointer(); }

    void cut(const Rect& rows, WindowSource& input) override {
        cut_window_to_f32(input, rows, conversion_, reinterpret_cast<float*>(in_.pointer()));
    }

    void send(int64_t /*rows*/, StageWatch& /*watch*/) override {}

    void receive(int64_t /*rows*/, std::span<const Rect> /*cores*/, StageWatch& watch) override {
        watch.done(record::Stage::forward);
    }

    void write(size_t /*number*/, int64_t row, const plan::Tile& band, CoreSink& output) override {
        const float* const made = reinterpret_cast<const float*>(out_.pointer()) + row * out_row_floats_;
        write_core_from_f32(made, band, conversion_, output);
    }

    void finish() noexcept override {}

  private:
    static size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

    device::Conversion conversion_;
    int64_t out_row_floats_;
    engine::EngineBuffer in_, out_;
    device::Stream stream_;
};

}  // namespace

std::unique_ptr<RowDevice> make_host_rows(const PipelineOptions& options, const RowRoom& room) {
    return std::make_unique<HostRows>(options, room);
}

RowRoom row_room(const Work& work, int64_t channels) {
    if (work.slab) {
        const network::ExchangedSlab& slab = *work.slab;
        return {slab.shape().image.w, channels, slab.held(0).size(), slab.shape().rows.size()};
    }
    const network::BandSchedule& bands = *work.bands;
    return {bands.shape().image.w, channels, bands.most_input_rows(), bands.shape().band};
}

}  // namespace pb::run
