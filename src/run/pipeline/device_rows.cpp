#include "engine/memory.hpp"
#include "run/pipeline/lost_values.hpp"
#include "run/pipeline/row_device.hpp"
#include "run/pipeline/slot_device.hpp"

#include "patchbench/base/error.hpp"

namespace pb::run {

namespace {

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
    ~DeviceRows() override { wait(); }
    DeviceRows(const DeviceRows&) = delete;
    DeviceRows& operator=(const DeviceRows&) = delete;

    [[nodiscard]] device::Stream& stream() override { return stream_; }
    [[nodiscard]] const void* in() const override { return in_.pointer(); }
    [[nodiscard]] void* out() const override { return out_.pointer(); }

    void cut(const Rect& rows, WindowSource& input) override {
        stream_.synchronise();
        cut_window(input, rows, pinned_in_.pointer());
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

    void finish() noexcept override { wait(); }

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

    void wait() noexcept {
        try {
            stream_.synchronise();
        } catch (const Error&) {  // the device is lost; the error has already been reported
        }
    }

    BatchViews row_;
    device::PinnedBuffer pinned_in_, pinned_out_;
    engine::EngineBuffer device_in_, device_out_, in_, out_;
    LostValues lost_;
    device::Stream stream_;
};

}  // namespace

std::unique_ptr<RowDevice> make_device_rows(const PipelineOptions& options, DType sample_type, const RowRoom& room) {
    const BatchViews row{{1, room.width}, room.channels, sample_type, options};
    return std::make_unique<DeviceRows>(row, room);
}

}  // namespace pb::run
