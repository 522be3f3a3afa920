// Where the slab of a rank is computed: on a CPU in fp32, or on a CUDA device. It holds the rows of the slab before and
// after the network. The pass is in slab_pipeline.cpp.
#pragma once

#include "run/pipeline/pipeline.hpp"

#include <memory>
#include <span>

namespace pb::run {

class SlabDevice {
  public:
    virtual ~SlabDevice() = default;
    /// Reads `rows`, those of the input that the slab holds, over the whole width.
    virtual void cut(const Rect& rows, WindowSource& input) = 0;
    /// Runs the network, or enqueues it; `exchange` moves border rows between ranks, in memory of the device where the
    /// options have `device_borders`, else of the host. Null: there are no neighbours. Notes its stages.
    virtual void run(engine::RowExchange* exchange, StageWatch& watch) = 0;
    /// Waits for the output. `cores`: of the bands that are written, in pixels of the slab. Notes its stages.
    virtual void receive(std::span<const Rect> cores, StageWatch& watch) = 0;
    /// Writes `band`, whose core is `number` of them.
    virtual void write(size_t number, const plan::Tile& band, CoreSink& output) = 0;
    /// The arithmetic alone, without neighbours, and waits for it: for timing.
    virtual void compute() = 0;
    /// Where run() enqueues its work.
    [[nodiscard]] virtual device::Stream& stream() = 0;
};

/// `denoiser` and `slab` must outlive it. Throw OutOfMemory.
[[nodiscard]] std::unique_ptr<SlabDevice> make_host_slab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab,
                                                         const PipelineOptions& options, int64_t channels);
[[nodiscard]] std::unique_ptr<SlabDevice> make_stream_slab(engine::Denoiser& denoiser,
                                                           const network::ExchangedSlab& slab,
                                                           const PipelineOptions& options, int64_t channels,
                                                           DType sample_type);

}  // namespace pb::run
