// Tries on the ranks of a point whether a batch fits, for `batch: auto` (settle.hpp) and `batch: largest`.
#pragma once

#include "record/point.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/team.hpp"
#include "run/work.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <string>

namespace pb::run {

/// The result of one forward call with a batch, the same on all ranks.
struct BatchTrial {
    bool fits = false;
    record::PointStatus status = record::PointStatus::ok;  // oom or index_limit when it does not fit
    std::string reason;
    double pixels_per_s = 0;  // processed pixels, on the slowest rank
    double call_s = 0;        // seconds of the forward call on the slowest rank
    int64_t peak_bytes = 0;   // peak of the engine's allocator during the call, maximum over ranks
};

/// The input of every trial of one point. All of it must outlive the trials.
struct TrialBench {
    const plan::Point& point;  // its halo must be settled
    const Team& team;
    engine::Denoiser& denoiser;
    PipelineOptions options;
    int64_t channels = 3;
    DType sample_type = DType::f32;
};

/// Collective. The call is that of the rank's full batch that takes the most memory. The peak covers only the call:
/// preparation tries algorithms in all free memory. Throws PointFailed for any error except too little memory or too
/// many elements.
[[nodiscard]] BatchTrial try_batch(const TrialBench& bench, int64_t batch);

/// The number of windows in the largest share, which limits the batch.
[[nodiscard]] int64_t most_windows(const plan::Point& point);

/// Returns the largest batch that fits and records the search in the trace. Throws PointFailed when nothing fits, and
/// as `try_batch`. Collective.
[[nodiscard]] int64_t search_largest(const TrialBench& bench, record::PointTrace& trace);

}  // namespace pb::run
