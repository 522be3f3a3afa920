// Settles what a plan cannot know without a trial: halo and batch `auto`. The answers are put into the plan's own
// arithmetic.
#pragma once

#include "base/user_cache.hpp"
#include "run/point/batch_search.hpp"
#include "run/verify/reference_path.hpp"

#include <functional>
#include <map>
#include <string>

namespace pb::run {

/// Share of the tolerance that the error at the probes of an image may take: on photographs the strongest seam
/// elsewhere was up to 1.6 times as strong as at the probes.
inline constexpr double kHaloCaution = 0.5;

/// Whether tiles of the point meet within its image: where they do not, it needs no halo.
[[nodiscard]] bool has_seams(const plan::Point& point);

/// Finds the smallest halo (a multiple of the alignment) whose error at seam probes of the image is within `caution`
/// times halo_tolerance, by bisection between 0 and the exact halo. The point has seams. Not collective.
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

// A halo for images that are too small to search their own: it depends on the network, its weights and the noise level,
// never on the image.

/// Makes the serial path over a source for a point; the source must outlive it.
using MakeReference = std::function<std::unique_ptr<ReferencePath>(const plan::Point&, ImageSource&)>;

/// Finds halos on one synthetic scene of 384 x 384 pixels with noise. On four photographs at four noise levels the halo
/// found there was within one step (8 px of DRUNet, 1 px of DnCNN) of that found on the photograph, or larger. Answers
/// are kept for later points, and in `cache` for later runs.
class TypicalHalos {
  public:
    explicit TypicalHalos(const std::filesystem::path& cache) : cache_(cache.empty() ? cache : cache / "halos") {}

    /// Returns a multiple of the alignment. The noise level of the point is rounded up to a power of 0.8, so that
    /// images with nearly the same level share an answer. Not collective.
    [[nodiscard]] int64_t find(const plan::Point& point, const engine::Weights& weights,
                               const MakeReference& make_reference);

  private:
    UserCache cache_;
    std::map<std::string, int64_t> known_;
};

}  // namespace pb::run
