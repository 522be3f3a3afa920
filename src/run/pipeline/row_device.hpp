// Rows of an image over its whole width, on their way to a network and back: on a CPU in fp32, or on a CUDA device. The
// loops are in band_pipeline.cpp (carried rows) and slab_pipeline.cpp (exchanged rows).
#pragma once

#include "run/pipeline/pipeline.hpp"

#include <memory>
#include <span>

namespace pb::run {

/// What there must be room for.
struct RowRoom {
    int64_t width = 0;
    int64_t channels = 0;
    int64_t taken = 0, made = 0;  // most rows of the network's input and of its output
};

/// The room that one pass over the bands or the slab of `work` needs.
[[nodiscard]] RowRoom row_room(const Work& work, int64_t channels);

class RowDevice {
  public:
    virtual ~RowDevice() = default;
    /// Where the network's work is enqueued.
    [[nodiscard]] virtual device::Stream& stream() = 0;
    /// Whether the memory of the rows is not the host's.
    [[nodiscard]] virtual bool is_on_device() const = 0;
    /// Rows of the network's input and output, in memory of the device.
    [[nodiscard]] virtual const void* in() const = 0;
    [[nodiscard]] virtual void* out() const = 0;

    /// Reads rows of the input. Waits for what an exception has left in flight.
    virtual void cut(const Rect& rows, WindowSource& input) = 0;
    /// Takes the first `rows` of them to in(), in the order of the stream. Notes its stages.
    virtual void send(int64_t rows, StageWatch& watch) = 0;
    /// Ends the stage forward, and brings the first `rows` of out() here, to be written as `cores` (at most as many as
    /// rows), each a part of them. Notes its stages.
    virtual void receive(int64_t rows, std::span<const Rect> cores, StageWatch& watch) = 0;
    /// Writes the core of `band`, which is number `number` of those received and begins with row `row` of out().
    virtual void write(size_t number, int64_t row, const plan::Tile& band, CoreSink& output) = 0;
    /// Returns when nothing is in flight, also after an error.
    virtual void finish() noexcept = 0;
};

/// fp32, on a CPU: rows are converted while they are cut and while they are written. Throws OutOfMemory.
[[nodiscard]] std::unique_ptr<RowDevice> make_host_rows(const PipelineOptions& options, const RowRoom& room);
/// Any precision, on a CUDA device: samples are copied there and converted, and after the network converted and copied
/// back, all on one stream. Each stage ends before the next one begins, so nothing overlaps. On the fake CUDA runtime
/// of the tests and, inline, on the CPU it gives the bits of the conversion on the host. Throws OutOfMemory.
[[nodiscard]] std::unique_ptr<RowDevice> make_device_rows(const PipelineOptions& options, DType sample_type,
                                                          const RowRoom& room);

/// Makes the pipeline for work with `bands`.
[[nodiscard]] std::unique_ptr<Pipeline> make_band_pipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows,
                                                           const Work& work);
/// Makes the pipeline for work with a `slab`. The passes of all ranks that own a slab run together: when one fails, it
/// fails on the others with NeighbourFailed.
[[nodiscard]] std::unique_ptr<Pipeline> make_slab_pipeline(engine::Denoiser& denoiser, std::unique_ptr<RowDevice> rows,
                                                           const Work& work, const PipelineOptions& options);

}  // namespace pb::run
