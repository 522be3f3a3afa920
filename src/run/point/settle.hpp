// Settles what a plan cannot know without a trial: halo and batch `auto`. The answers are put into the plan's own
// arithmetic.
#pragma once

#include "run/point/batch_trial.hpp"
#include "run/verify/reference_path.hpp"

#include <functional>

namespace pb::run {

/// Share of the tolerance that the error at the probes of an image may take: on photographs the strongest seam
/// elsewhere was up to 1.6 times as strong as at the probes.
inline constexpr double kHaloCaution = 0.5;

/// Finds the smallest halo (a multiple of the alignment) whose error at seam probes of the image is within `caution`
/// times halo_tolerance, by bisection between 0 and the exact halo. Not collective.
[[nodiscard]] int64_t search_halo(const plan::Point& point, ReferencePath& reference, double caution);

/// Whether the search on the image computes at most 5 % of its pixels; where the image has no seams, there is nothing
/// to compute. `exact_halo` is that of the weights.
[[nodiscard]] bool is_worth_a_halo_search(const plan::Point& point, int64_t exact_halo);

/// Finds the fastest batch that fits. Doubles the batch from 1 as long as the forward rate of the slowest rank grows by
/// more than 3 %, memory allows it, the largest share has enough windows, and the search takes at most 5 % of the job
/// that its own trials predict. Returns 1 when nothing can be tried in that time. On a CPU, where batching gains almost
/// nothing, it returns a small batch without trials. Collective. Throws PointFailed when not even one window fits.
[[nodiscard]] int64_t find_batch(const TrialBench& bench);

/// The windows that fill a call of the network, however many the image has. With a memory limit, and with batch
/// `largest`, these are the windows of the point's own batch.
[[nodiscard]] int64_t full_batch(const plan::Point& point);

/// The same search with any function that tries a batch. `most` is the largest useful batch.
using TryBatch = std::function<BatchTrial(int64_t)>;
[[nodiscard]] int64_t find_batch(int64_t most, const TryBatch& try_one);

}  // namespace pb::run
