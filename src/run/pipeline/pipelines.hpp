// The two pipelines behind make_pipeline, and what they share.
#pragma once

#include "comm/interruption.hpp"
#include "engine/memory.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/pipeline/stopwatch.hpp"

#include <functional>

namespace pb {

[[nodiscard]] std::unique_ptr<Pipeline> make_host_pipeline(Denoiser& denoiser, const Work& work,
                                                           const PipelineOptions& options, int64_t channels,
                                                           DType sample_type);
[[nodiscard]] std::unique_ptr<Pipeline> make_device_pipeline(Denoiser& denoiser, const Work& work,
                                                             const PipelineOptions& options, int64_t channels,
                                                             DType sample_type);

/// Seconds of a call with so many windows, on a simulated device.
using CallSeconds = std::function<double(int64_t)>;
/// `pixel_bytes` of the samples that travel: channels times element size.
[[nodiscard]] std::unique_ptr<Pipeline> make_timed_pipeline(CallSeconds call_seconds, const Work& work,
                                                            const PipelineOptions& options, size_t pixel_bytes);

/// Adds a piece of work to the sums of a pass, and to its spans where they are kept.
inline void add(PassLog& log, const Span& span) {
    log.stages[static_cast<size_t>(span.stage)] += span.end_s - span.begin_s;
    if (log.spans != nullptr) log.spans->add(span);
}

/// Times the host's stages of one batch, one after the other.
class StageWatch {
  public:
    StageWatch(PassLog& log, int64_t batch) : log_(log), batch_(batch) {}
    /// What was done since construction, or since the last call, was `stage`.
    void done(Stage stage) {
        const double now_s = monotonic_seconds();
        add(log_, {stage, batch_, begin_s_, now_s});
        begin_s_ = now_s;
    }

  private:
    PassLog& log_;
    int64_t batch_;
    double begin_s_ = monotonic_seconds();
};

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

/// Which of the rank's batches it is.
[[nodiscard]] inline int64_t number_of(const Range& batch, const Work& work) {
    return (batch.begin - work.windows.begin) / work.batch;
}

/// Window to put at place `i` of a batch: a padded place repeats the batch's last window.
[[nodiscard]] inline int64_t window_at(const Range& batch, int64_t i) {
    return std::min(batch.begin + i, batch.end - 1);
}

}  // namespace pb
