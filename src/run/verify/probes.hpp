// Chooses regions to verify. A seed makes the choice the same in every run of a point.
#pragma once

#include "plan/plan.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/slab.hpp"
#include "run/work.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::run {

/// Edge of a seam probe in pixels.
inline constexpr int64_t kProbeEdge = 64;

inline constexpr uint64_t kProbeSeed = 20;

/// Returns up to `count` different squares of kProbeEdge pixels, rounded up to the alignment (smaller at the border),
/// aligned, each centred on a corner where patches meet. Where the image is one patch high or wide, they are centred on
/// the middle of a seam. A single patch has no probes.
[[nodiscard]] std::vector<Rect> seam_probes(const plan::TileGrid& grid, int64_t count);

/// Returns up to `count` different indices in `range`, chosen by a seed, ascending.
[[nodiscard]] std::vector<int64_t> pick(Range range, int64_t count, uint64_t seed);

/// Returns all indices of `runs` in a random order that depends on `seed`.
[[nodiscard]] std::vector<int64_t> shuffled(const std::vector<Range>& runs, uint64_t seed);

/// As `shuffled`, without the windows that `output` cannot return (a checksum remembers only some).
[[nodiscard]] std::vector<int64_t> readable_windows(const std::vector<Range>& runs, const Work& work,
                                                    const CoreSink& output, uint64_t seed);

struct Anomalies {
    std::vector<int64_t> windows;  // the most suspicious first
    bool has_unchanged = false;    // a window is unchanged: no network does that to noise
    bool has_blank = false;        // a window of integers is all zeros, as NaN becomes; its input is not
};

/// Finds the suspicious windows of `runs`, from all of their output: the window with the most odd samples
/// (core_sink.hpp), and those that the network changed most and least, measured by the mean absolute difference
/// from its input. The least changed comes before the most changed when its change is almost 0.
[[nodiscard]] Anomalies find_anomalies(CoreSink& output, WindowSource& input, const Work& work,
                                       const std::vector<Range>& runs);

// Checks the added noise: estimates its mean and standard deviation from the clean image and the noisy image that the
// network received.

/// Compares mean and standard deviation of the noise in `parts` with 0 and `sigma` ([0,1] units). Each must be within
/// five standard errors of its estimate. Returns what is wrong, or nothing. `parts` must lie inside the image.
[[nodiscard]] std::optional<std::string> find_wrong_noise(WindowSource& noisy, ImageSource& clean,
                                                          const std::vector<Rect>& parts, double sigma);

}  // namespace pb::run
