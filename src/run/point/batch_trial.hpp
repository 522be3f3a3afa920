// Whether a batch fits, tried on the ranks of a point: what `batch: auto` and `batch: largest` have in common.
#pragma once

#include "record/point.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/team.hpp"
#include "run/work.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <string>

namespace pb {

/// One forward call with a batch, agreed by all ranks.
struct BatchTrial {
    bool fits = false;
    PointStatus status = PointStatus::ok;  // oom or index_limit where it does not fit
    std::string reason;
    double pixels_per_s = 0;  // processed, of the slowest rank
    double call_s = 0;        // the forward call, of the slowest rank
    int64_t peak_bytes = 0;   // of the engine's allocator during it, the largest over ranks
};

/// What every try of one point needs. All of it must outlive the trials.
struct TrialBench {
    const Point& point;  // its halo is settled
    const Team& team;
    Denoiser& denoiser;
    PipelineOptions options;
    int64_t channels = 3;
    DType sample_type = DType::f32;
};

/// Collective. The peak is that of the call alone: preparing tries algorithms in whatever memory is free. Throws
/// PointFailed for anything but too little memory or too many elements.
[[nodiscard]] BatchTrial try_batch(const TrialBench& bench, int64_t batch);

/// Windows of the largest share: no batch can be larger.
[[nodiscard]] int64_t most_windows(const Point& point);

}  // namespace pb
