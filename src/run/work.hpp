// What a rank has to do in one pass over an image: a run of tiles, whose windows have one shape.
#pragma once

#include "plan/plan.hpp"

#include <functional>
#include <vector>

namespace pb {

struct Work {
    std::function<Tile(int64_t)> tile;  // by window index
    Extent window;
    Range windows;                             // this rank's; dynamic: all, of which it takes batches
    Range window_rows;                         // image rows that they need
    std::function<int64_t(Range)> patches_in;  // patches of windows
    int64_t batch = 1;
    LastBatch last_batch = LastBatch::pad;

    [[nodiscard]] std::vector<Range> batches() const { return cut_batches(windows, batch); }
    [[nodiscard]] double core_pixels(const std::vector<Range>& runs) const;
};

/// The share of `rank`. `whole` points: one forward call each; with `replicate` every rank has all, else rank 0.
[[nodiscard]] Work make_work(const Point& point, int rank);

/// Rectangles that runs of windows cover (tiles: at most three a run).
[[nodiscard]] std::vector<Rect> rects_of_windows(const Point& point, const std::vector<Range>& windows);

/// Patches of one repetition over all ranks.
[[nodiscard]] int64_t num_patches(const Point& point);

}  // namespace pb
