#include "run/pipeline/row_device.hpp"

#include "engine/memory.hpp"
#include "run/pipeline/slot_device.hpp"

#include "patchbench/base/error.hpp"

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
    [[nodiscard]] bool is_on_device() const override { return false; }
    [[nodiscard]] const void* in() const override { return in_.pointer(); }
    [[nodiscard]] void* out() const override { return out_.pointer(); }

    void cut(const Rect& rows, WindowSource& input) override {
        cut_window_to_f32(input.read(rows), rows, conversion_, static_cast<float*>(in_.pointer()));
    }

    void send(int64_t /*rows*/, StageWatch& /*watch*/) override {}

    void receive(int64_t /*rows*/, std::span<const Rect> /*cores*/, StageWatch& watch) override {
        watch.done(record::Stage::forward);
    }

    void write(size_t /*number*/, int64_t row, const plan::Tile& band, CoreSink& output) override {
        const float* const made = static_cast<const float*>(out_.pointer()) + row * out_row_floats_;
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

class DeviceRows final : public RowDevice {
  public:
    DeviceRows(const BatchViews& row, const RowRoom& room)
        : row_(row),
          pinned_in_(row.options.device, samples(room.taken, nullptr).bytes()),
          pinned_out_(row.options.device, samples(room.made, nullptr).bytes()),
          device_in_(row.options.device, samples(room.taken, nullptr).bytes()),
          device_out_(row.options.device, samples(room.made, nullptr).bytes()),
          in_(row.options.device, views(room.taken).in(nullptr, 1).bytes()),
          out_(row.options.device, views(room.made).out(nullptr, 1).bytes()),
          lost_(row.options.device, row.sample_type, room.made),
          stream_(row.options.device) {}
    ~DeviceRows() override { DeviceRows::finish(); }
    DeviceRows(const DeviceRows&) = delete;
    DeviceRows& operator=(const DeviceRows&) = delete;

    [[nodiscard]] device::Stream& stream() override { return stream_; }
    [[nodiscard]] bool is_on_device() const override { return true; }
    [[nodiscard]] const void* in() const override { return in_.pointer(); }
    [[nodiscard]] void* out() const override { return out_.pointer(); }

    void cut(const Rect& rows, WindowSource& input) override {
        stream_.synchronise();
        cut_window(input.read(rows), rows, pinned_in_.pointer());
    }

    void send(int64_t rows, StageWatch& watch) override {
        if (rows == 0) return;
        const BatchView there = samples(rows, device_in_.pointer());
        device::copy_to_device(there.pointer, pinned_in_.pointer(), there.bytes(), stream_);
        end(record::Stage::h2d, watch);
        device::samples_to_network(there, views(rows).in(in_.pointer(), 1), row_.options.conversion, stream_);
    }

    void receive(int64_t rows, std::span<const Rect> cores, StageWatch& watch) override {
        const BatchView there = samples(rows, device_out_.pointer());
        if (rows > 0) convert(views(rows).out(out_.pointer(), 1), there, cores);
        end(record::Stage::forward, watch);
        if (rows == 0) return;
        device::copy_to_host(pinned_out_.pointer(), there.pointer, there.bytes(), stream_);
        lost_.receive(stream_);
        end(record::Stage::d2h, watch);
    }

    void write(size_t number, int64_t row, const plan::Tile& band, CoreSink& output) override {
        const std::byte* const made = pinned_out_.pointer() + static_cast<size_t>(row) * samples(1, nullptr).bytes();
        write_core(made, band, lost_.cores()[number].not_finite, output);
    }

    void finish() noexcept override {
        try {
            stream_.synchronise();
        } catch (const Error&) {  // the device is lost; the error has already been reported
        }
    }

  private:
    [[nodiscard]] BatchViews views(int64_t rows) const {
        BatchViews all = row_;
        all.window.h = rows;
        return all;
    }
    [[nodiscard]] BatchView samples(int64_t rows, void* pointer) const { return views(rows).samples(pointer, 1); }

    void convert(const BatchView& network, const BatchView& samples, std::span<const Rect> cores) {
        device::network_to_samples(network, samples, row_.options.conversion, stream_);
        lost_.send(cores, stream_);
        lost_.count(network, stream_);
    }

    void end(record::Stage stage, StageWatch& watch) {
        stream_.synchronise();
        watch.done(stage);
    }

    BatchViews row_;
    device::PinnedBuffer pinned_in_, pinned_out_;
    engine::EngineBuffer device_in_, device_out_, in_, out_;
    LostValues lost_;
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

std::unique_ptr<RowDevice> make_device_rows(const PipelineOptions& options, DType sample_type, const RowRoom& room) {
    const BatchViews row{{1, room.width}, room.channels, sample_type, options};
    return std::make_unique<DeviceRows>(row, room);
}

}  // namespace pb::run
