// Rows of an image over its whole width, on their way to a CUDA device and back: samples are copied there, converted,
// and after the network converted and copied back, all on one stream. Each stage ends before the next one begins, so
// nothing overlaps. Never run on a GPU so far; on the fake CUDA runtime of the tests and, inline, on the CPU it gives
// the bits of the conversion on the host.
#pragma once

#include "engine/memory.hpp"
#include "run/pipeline/lost_values.hpp"
#include "run/pipeline/slot_device.hpp"

namespace pb::run {

class DeviceRows {
  public:
    /// `row`: views of a row. Room for `most_taken` rows before the network and `most_made` after it. Throws
    /// OutOfMemory.
    DeviceRows(const BatchViews& row, int64_t most_taken, int64_t most_made);
    ~DeviceRows() { finish(); }
    DeviceRows(const DeviceRows&) = delete;
    DeviceRows& operator=(const DeviceRows&) = delete;

    [[nodiscard]] device::Stream& stream() { return stream_; }
    [[nodiscard]] const void* in() const { return in_.pointer(); }
    [[nodiscard]] void* out() const { return out_.pointer(); }

    /// Reads rows of the input. Waits for what an exception has left in flight.
    void cut(const Rect& rows, WindowSource& input);
    /// Takes the first `rows` of them to `in`; not yet converted when it returns.
    void send(int64_t rows, StageWatch& watch);
    /// Ends the stage forward; brings the first `rows` of `out` here, to be written as `cores`, at most as many as
    /// rows.
    void receive(int64_t rows, std::span<const Rect> cores, StageWatch& watch);
    /// Writes core `number` of them, which is that of `band`.
    void write(size_t number, const plan::Tile& band, CoreSink& output) const;

    /// Returns when nothing is in flight, also after an error.
    void finish() noexcept;

  private:
    [[nodiscard]] BatchViews views(int64_t rows) const;
    [[nodiscard]] BatchView samples(int64_t rows, void* pointer) const { return views(rows).samples(pointer, 1); }
    void convert(const BatchView& network, const BatchView& samples, std::span<const Rect> cores);
    void end(record::Stage stage, StageWatch& watch);

    BatchViews row_;
    device::PinnedBuffer pinned_in_, pinned_out_;
    engine::EngineBuffer device_in_, device_out_, in_, out_;
    LostValues lost_;
    device::Stream stream_;
};

}  // namespace pb::run
