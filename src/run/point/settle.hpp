// What a plan leaves open because it must be tried: halo and batch `auto`. The answers go back into the same
// arithmetic.
#pragma once

#include "run/point/batch_trial.hpp"
#include "run/verify/reference_path.hpp"

#include <functional>

namespace pb {

/// Smallest halo (multiple of the alignment) whose error at seam probes of the actual image is within halo_tolerance,
/// by bisection between 0 and the exact halo. Collective: probed on the root, told to all. `reference` is used on the
/// root.
[[nodiscard]] int64_t find_halo(const Point& point, const Team& team, ReferencePath* reference);

/// Fastest batch that fits: doubles from 1 while the forward rate of the slowest rank grows by more than 3 %, memory
/// allows, the largest share has as many windows, and the search takes no more than 5 % of the job that its own trials
/// predict; 1 where nothing can be tried in that time. On a CPU, where batching gains next to nothing, a small batch
/// without any trial. Collective; throws PointFailed where not even one window fits.
[[nodiscard]] int64_t find_batch(const TrialBench& bench);

/// The same search on any device, by whatever tells how fast a batch is: `most` is the largest that makes sense.
using TryBatch = std::function<BatchTrial(int64_t)>;
[[nodiscard]] int64_t find_batch(int64_t most, const TryBatch& try_one);

}  // namespace pb
