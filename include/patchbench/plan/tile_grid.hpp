// Tile geometry: the windows that a network sees, and the core of each, whose pixels are used. Pure arithmetic.
//
// Note [Inward windows]: windows are shifted inwards at the border of the padded image, never clipped and never
// reflect-padded. All windows have one shape; image borders coincide with window borders, so the network's own zero
// padding is the same as for the whole image; starts stay multiples of the alignment, so stride-2 grids keep their
// phase. With a sufficient halo the tiled output therefore equals the output of the whole (padded) image.
// A network that pads by itself takes any extents (`step` below the alignment). Its image is not padded, and the
// extents of all windows leave the same remainder as those of the image, divided by the alignment: the last windows end
// where the image ends, and where the network pads each window by itself, it pads all alike.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb::plan {

/// A window, which the network sees, and its core, the part of the network's output that is used.
struct Tile {
    Rect window;  // in image coordinates; may reach beyond the image on the right and at the bottom (replicated there)
    Rect core;    // in image coordinates

    /// The core in pixels of the window.
    [[nodiscard]] Rect core_in_window() const {
        return {core.row - window.row, core.column - window.column, core.extent};
    }

    friend bool operator==(const Tile&, const Tile&) = default;
};

struct TileSpec {
    int64_t patch = 256;  // multiple of alignment
    int64_t halo = 0;     // multiple of alignment
    int64_t alignment = 1;
    bool full_width = false;  // patches are bands: `patch` rows of all columns
    /// Extents are multiples of it, and the alignment is; none: of the alignment.
    std::optional<int64_t> step{};
};

/// One distinct window along an axis, [start, start + window), and its core. Patches whose windows coincide (small
/// images) are merged: `num_patches` of them.
struct AxisTile {
    int64_t start = 0;
    Range core;
    int64_t num_patches = 1;
};

class TileGrid {
  public:
    /// Throws UsageError naming the nearest legal values when patch or halo is not a multiple of the alignment, patch <
    /// 1 or halo < 0; and for an empty image or one that would be cut into more than 2^22 patches along an edge.
    TileGrid(Extent image, const TileSpec& spec);
    /// The same, but the windows along a row are `columns`, each `window_columns` wide, and each core is a patch.
    TileGrid(Extent image, const TileSpec& spec, std::vector<AxisTile> columns, int64_t window_columns);

    [[nodiscard]] Extent image() const { return image_; }
    [[nodiscard]] Extent padded() const { return padded_; }  // multiples of the step, replicated right and bottom
    [[nodiscard]] Extent window() const { return window_; }
    [[nodiscard]] const TileSpec& spec() const { return spec_; }
    /// With columns that were given: as wide as a window.
    [[nodiscard]] Extent patch() const { return patch_; }
    [[nodiscard]] bool has_own_columns() const { return has_own_columns_; }

    /// Distinct windows, row-major.
    [[nodiscard]] int64_t num_windows() const;
    /// Patches of the image: ceil(H/patch) * ceil(W/patch), or ceil(H/patch) bands, by the columns that were given.
    [[nodiscard]] int64_t num_patches() const;
    [[nodiscard]] int64_t num_patches(Range windows) const;

    [[nodiscard]] Rect window(int64_t index) const;
    [[nodiscard]] Rect core(int64_t index) const;
    [[nodiscard]] Tile tile(int64_t index) const { return {window(index), core(index)}; }

    /// Image rows of `windows`, clamped to the image.
    [[nodiscard]] Range window_rows(Range windows) const;

    /// Windows along each axis: window i of the grid is that of row i / columns and column i % columns.
    [[nodiscard]] const std::vector<AxisTile>& rows() const { return rows_; }
    [[nodiscard]] const std::vector<AxisTile>& columns() const { return columns_; }

    /// Pixels of all distinct windows, each once.
    [[nodiscard]] int64_t processed_pixels() const;

  private:
    [[nodiscard]] int64_t patches_per_row() const;

    Extent image_, padded_, patch_, window_;
    TileSpec spec_;
    std::vector<AxisTile> rows_, columns_;
    bool has_own_columns_ = false;
};

/// Rectangles (at most three) that the cores of a contiguous run of windows cover: a part of a first tile row, whole
/// tile rows, a part of a last one. What a node sends to the root.
[[nodiscard]] std::vector<Rect> covered_rects(const TileGrid& grid, Range windows);

}  // namespace pb::plan
