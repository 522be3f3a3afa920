// The two pipelines behind make_pipeline, and what they share.
#pragma once

#include "run/stopwatch.hpp"

#include "patchbench/comm/interruption.hpp"
#include "patchbench/engine/memory.hpp"
#include "patchbench/run/pipeline.hpp"

namespace pb {

[[nodiscard]] std::unique_ptr<Pipeline> make_host_pipeline(Denoiser& denoiser, const Work& work,
                                                           const PipelineOptions& options, int64_t channels,
                                                           DType sample_type);
[[nodiscard]] std::unique_ptr<Pipeline> make_device_pipeline(Denoiser& denoiser, const Work& work,
                                                             const PipelineOptions& options, int64_t channels,
                                                             DType sample_type);

inline void add(StageSeconds& stages, Stage stage, double seconds) { stages[static_cast<size_t>(stage)] += seconds; }

inline void stop_if_interrupted() {
    if (const std::string signal = interruption(); !signal.empty()) throw Interrupted(signal + " came");
}

/// What a batch of `n` windows looks like to the network and in samples.
struct BatchShapes {
    Shape in, out, samples;
};
[[nodiscard]] inline BatchShapes batch_shapes(int64_t n, Extent window, int64_t channels,
                                              const Conversion& conversion) {
    const Shape samples{n, channels, window.h, window.w};
    return {{n, channels + (conversion.sigma ? 1 : 0), window.h, window.w}, samples, samples};
}

/// Windows that a batch runs: its own, or the full count when the last one is padded.
[[nodiscard]] inline int64_t run_size(const Range& batch, const Work& work) {
    return work.last_batch == LastBatch::pad ? work.batch : batch.size();
}

/// Window to put at place `i` of a batch: a padded place repeats the batch's last window.
[[nodiscard]] inline int64_t window_at(const Range& batch, int64_t i) {
    return std::min(batch.begin + i, batch.end - 1);
}

}  // namespace pb
