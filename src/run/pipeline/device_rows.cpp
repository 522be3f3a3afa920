#include "run/pipeline/device_rows.hpp"

#include "patchbench/base/error.hpp"

namespace pb::run {

DeviceRows::DeviceRows(const BatchViews& row, int64_t most_taken, int64_t most_made)
    : row_(row),
      pinned_in_(row.options.device, samples(most_taken, nullptr).bytes()),
      pinned_out_(row.options.device, samples(most_made, nullptr).bytes()),
      device_in_(row.options.device, samples(most_taken, nullptr).bytes()),
      device_out_(row.options.device, samples(most_made, nullptr).bytes()),
      in_(row.options.device, views(most_taken).in(nullptr, 1).bytes()),
      out_(row.options.device, views(most_made).out(nullptr, 1).bytes()),
      lost_(row.options.device, row.sample_type, most_made),
      stream_(row.options.device) {}

void DeviceRows::cut(const Rect& rows, WindowSource& input) {
    stream_.synchronise();
    cut_window(input, rows, pinned_in_.pointer());
}

void DeviceRows::send(int64_t rows, StageWatch& watch) {
    const BatchView there = samples(rows, device_in_.pointer());
    device::copy_to_device(there.pointer, pinned_in_.pointer(), there.bytes(), stream_);
    end(record::Stage::h2d, watch);
    device::samples_to_network(there, views(rows).in(in_.pointer(), 1), row_.options.conversion, stream_);
}

void DeviceRows::receive(int64_t rows, std::span<const Rect> cores, StageWatch& watch) {
    const BatchView there = samples(rows, device_out_.pointer());
    if (rows > 0) convert(views(rows).out(out_.pointer(), 1), there, cores);
    end(record::Stage::forward, watch);
    if (rows == 0) return;
    device::copy_to_host(pinned_out_.pointer(), there.pointer, there.bytes(), stream_);
    lost_.receive(stream_);
    end(record::Stage::d2h, watch);
}

void DeviceRows::convert(const BatchView& network, const BatchView& samples, std::span<const Rect> cores) {
    device::network_to_samples(network, samples, row_.options.conversion, stream_);
    lost_.send(cores, stream_);
    lost_.count(network, stream_);
}

void DeviceRows::write(size_t number, const plan::Tile& band, CoreSink& output) const {
    const auto [core, num_lost] = lost_.cores()[number];
    const size_t row_bytes = samples(1, nullptr).bytes();
    write_core(pinned_out_.pointer() + static_cast<size_t>(core.row) * row_bytes, band, num_lost, output);
}

void DeviceRows::finish() noexcept {
    try {
        stream_.synchronise();
    } catch (const Error&) {  // the device is lost; the error has already been reported
    }
}

BatchViews DeviceRows::views(int64_t rows) const {
    BatchViews all = row_;
    all.window.h = rows;
    return all;
}

void DeviceRows::end(record::Stage stage, StageWatch& watch) {
    stream_.synchronise();
    watch.done(stage);
}

}  // namespace pb::run
