// The work of a rank in one pass over an image: a run of tiles, whose windows have one shape.
#pragma once

#include "plan/plan.hpp"

#include <functional>
#include <vector>

namespace pb::run {

struct Work {
    std::function<plan::Tile(int64_t)> tile;  // by window index
    Extent window;
    Range windows;                             // windows of this rank; dynamic: all windows, of which it takes batches
    Range window_rows;                         // image rows that the windows need
    std::function<int64_t(Range)> patches_in;  // number of patches in a range of windows
    int64_t batch = 1;
    config::LastBatch last_batch = config::LastBatch::pad;

    [[nodiscard]] std::vector<Range> batches() const { return plan::cut_batches(windows, batch); }
    [[nodiscard]] double core_pixels(const std::vector<Range>& runs) const;
};

/// Returns the share of `rank`. `whole` points: one forward call each. With `replicate` every rank has the whole image,
/// otherwise only rank 0.
[[nodiscard]] Work make_work(const plan::Point& point, int rank);

/// Returns the rectangles that runs of windows cover (for tiles at most three per run).
[[nodiscard]] std::vector<Rect> rects_of_windows(const plan::Point& point, const std::vector<Range>& windows);

/// The number of patches in one repetition, summed over ranks.
[[nodiscard]] int64_t num_patches(const plan::Point& point);

}  // namespace pb::run
