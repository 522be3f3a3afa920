// What the engines native and torch compute of a window of which only one part, the core, is used.
//
// Note [Cropped windows]: the last layers need hardly more than the core, the first ones most of the window. Of each
// map those rows and columns are computed that later maps need (receptive_field.hpp). Zeros lie beyond the borders of
// the window as if all of it were computed, and so do the tiles of native: there the pixels of the core have the bits
// that they have then. Windows at the border of an image have other cores, and need less, than those within it.
#pragma once

#include "network/native_layout.hpp"
#include "network/parts/pieces.hpp"

#include <span>

namespace pb::network {

/// How an engine computes cropped windows.
struct CropEngine {
    ComputedUnit unit = ComputedUnit::tile;
    MemoryPath path = kNativePath;  // unit tile: in an arena, else piece by piece (pieces.hpp)
};

/// The windows of a batch from number `begin` on that have one core: they go through the network together.
[[nodiscard]] Range alike_from(int64_t begin, std::span<const Rect> cores);

class WindowCrop {
  public:
    /// One axis of a core. Ranges are by operation, in pixels of its map.
    struct Axis {
        Range core;               // within the window
        std::vector<Range> made;  // what is computed
        std::vector<Range>
            held;  // unit tile: what has room in memory, at least `made`; maps that share it have the same
    };

    /// For all cores with one of `row_cores` and one of `column_cores`, which lie in a window of extent `window`, whose
    /// edges are multiples of the network's alignment.
    WindowCrop(const Graph& graph, Extent window, const std::vector<Range>& row_cores,
               const std::vector<Range>& column_cores, const CropEngine& engine = {});

    /// Adds the cores of `other`, which is of the same network and window.
    void include(const WindowCrop& other);

    [[nodiscard]] Extent window() const { return window_; }
    [[nodiscard]] const MemoryPlan& memory() const { return memory_; }

    /// Throw Error for a core that the crop was not made for.
    [[nodiscard]] const Axis& rows_of(const Rect& core) const;
    [[nodiscard]] const Axis& columns_of(const Rect& core) const;

    /// Multiply-accumulates of one window.
    [[nodiscard]] double macs(const Rect& core) const;

    /// Places the maps of `n` windows, for unit tile. Each has room for any of the cores, so that memory does not
    /// depend on which windows are together.
    [[nodiscard]] Arena place(int64_t n) const;
    /// The steps of a call on windows with this core, for unit pixel.
    [[nodiscard]] std::vector<PieceStep> steps_for(const Rect& core) const;
    /// What is copied in a call on one window with this core, for unit pixel: bytes_copied_beside().
    [[nodiscard]] int64_t copied_bytes(const Rect& core) const;
    /// What `n` windows with this core take; for unit tile what those with any of the cores take.
    [[nodiscard]] int64_t peak_bytes(const Rect& core, int64_t n) const;
    /// What `n` windows with any of the cores take at most, without the scratch memory of threads.
    [[nodiscard]] int64_t peak_bytes(int64_t n) const;

  private:
    [[nodiscard]] Axis axis_of(const Range& core, int64_t extent) const;

    Graph graph_;
    CropEngine engine_;
    Extent window_;
    MemoryPlan memory_;
    std::vector<double> macs_per_pixel_;  // of its map, by operation; 0: no convolution
    std::vector<Axis> rows_, columns_;
};

}  // namespace pb::network
