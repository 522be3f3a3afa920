// Windows of which only what the core needs is computed (Note [Cropped windows] in network/parts/window_crop.hpp): by
// the engines native and torch, for tiles with any halo.
//
// Note [Cropped windows on CUDA]: a batch becomes a call for each run of windows with one core, whose shapes are many
// and unlike those of whole windows. So windows are whole where calls are captured as a graph or run with fused layers,
// which are made for calls of one shape. Elsewhere a point is cropped where that is sure to gain: where the arithmetic
// that a window within the image saves would take longer, at the peak of an H100, than launching all steps of a call of
// its own and copying what is cut out of maps.
#pragma once

#include "network/parts/window_crop.hpp"
#include "plan/plan.hpp"

#include <vector>

namespace pb::plan {

/// False while the halo is open. Does not depend on the batch.
[[nodiscard]] bool is_cropped(const Point& point);

/// For the cores of all windows of a cropped point.
[[nodiscard]] network::WindowCrop window_crop(const Point& point);

/// What the maps of a call take in the engine torch, at most in any batch of `batch` windows: those with the same core
/// are computed together.
[[nodiscard]] int64_t most_bytes_of_pieces(const Point& point, int64_t batch);

/// The arithmetic of windows, in pixels of which each layer computes all: sums over any of them, without going through
/// them one by one. An image has few kinds of windows, because the cores of all but those near its border lie alike.
class CroppedPixels {
  public:
    /// Of a cropped point.
    explicit CroppedPixels(const Point& point);

    [[nodiscard]] double of_all() const { return before(num_windows_); }
    [[nodiscard]] double of(const Range& windows) const { return before(windows.end) - before(windows.begin); }

  private:
    /// Neighbours along an axis whose cores lie alike in their windows.
    struct Run {
        Range core;  // within the window
        int64_t count = 0;
    };

    [[nodiscard]] static std::vector<Run> runs_of(const std::vector<AxisTile>& tiles);
    /// Of the windows in one row of tiles, up to number `columns`.
    [[nodiscard]] double in_row(size_t row_run, int64_t columns) const;
    /// Of all windows up to number `window`.
    [[nodiscard]] double before(int64_t window) const;

    std::vector<Run> rows_, columns_;
    std::vector<std::vector<double>> pixels_;  // of a window, by row run and column run
    int64_t num_columns_ = 0, num_windows_ = 0;
};

}  // namespace pb::plan
