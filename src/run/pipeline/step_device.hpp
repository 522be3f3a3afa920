// Where the steps of carried rows are computed: on a CPU in fp32, or on a CUDA device. It holds the rows of one step on
// their way to the engine and back. The loop is in band_pipeline.cpp.
#pragma once

#include "run/pipeline/pipeline.hpp"

#include <memory>

namespace pb::run {

class StepDevice {
  public:
    virtual ~StepDevice() = default;
    [[nodiscard]] virtual engine::BandPass& pass() = 0;
    /// Reads `rows`, the rows of the input that the next step takes, over the whole width.
    virtual void cut(const Rect& rows, WindowSource& input) = 0;
    /// Runs a step and waits for it. `core`: of the band that it may complete, within it. Notes its stages.
    virtual void run(int64_t step, const Rect& core, StageWatch& watch) = 0;
    /// Writes the rows of the output that the last step made; `band`, whose core was given, begins with the first of
    /// them.
    virtual void write(const plan::Tile& band, CoreSink& output) = 0;
    /// Runs the arithmetic of a step alone, on rows that hold anything, and waits for it: for timing.
    virtual void compute(int64_t step) = 0;
};

/// `denoiser` and `schedule` must outlive it. Throw OutOfMemory.
[[nodiscard]] std::unique_ptr<StepDevice> make_host_steps(engine::Denoiser& denoiser,
                                                          const network::BandSchedule& schedule,
                                                          const PipelineOptions& options, int64_t channels);
[[nodiscard]] std::unique_ptr<StepDevice> make_stream_steps(engine::Denoiser& denoiser,
                                                            const network::BandSchedule& schedule,
                                                            const PipelineOptions& options, int64_t channels,
                                                            DType sample_type);

}  // namespace pb::run
