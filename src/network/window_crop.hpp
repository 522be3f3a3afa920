// What the engine native computes of a window of which only one part, the core, is used.
//
// Note [Cropped windows]: the last layers need hardly more than the core, the first ones most of the window. Of each
// map those rows and columns are computed that later maps need (computed_ranges.hpp). Zeros lie beyond the borders of
// the window as if all of it were computed, and so do tiles: the pixels of the core have the bits that they have there.
// Windows at the border of an image have other cores, and need less, than those within it.
#pragma once

#include "network/arena.hpp"
#include "network/computed_ranges.hpp"

namespace pb::network {

class WindowCrop {
  public:
    /// One axis of a core. Ranges are by operation, in pixels of its map.
    struct Axis {
        Range core;               // within the window
        std::vector<Range> made;  // what is computed
        std::vector<Range> held;  // what has room in memory, at least `made`; the same for maps that share memory
    };

    /// For all cores with one of `row_cores` and one of `column_cores`, which lie in a window of extent `window`, whose
    /// edges are multiples of the network's alignment.
    WindowCrop(const Graph& graph, Extent window, const std::vector<Range>& row_cores,
               const std::vector<Range>& column_cores);

    /// Adds the cores of `other`, which is of the same network and window.
    void include(const WindowCrop& other);

    [[nodiscard]] Extent window() const { return window_; }
    [[nodiscard]] const MemoryPlan& memory() const { return memory_; }

    /// Throw Error for a core that the crop was not made for.
    [[nodiscard]] const Axis& rows_of(const Rect& core) const;
    [[nodiscard]] const Axis& columns_of(const Rect& core) const;

    /// Multiply-accumulates of one window.
    [[nodiscard]] double macs(const Rect& core) const;

    /// Places the maps of `n` windows. Each has room for any of the cores, so that memory does not depend on which
    /// windows are together.
    [[nodiscard]] Arena place(int64_t n) const;

  private:
    [[nodiscard]] Axis axis_of(const Graph& graph, const Range& core, int64_t extent) const;

    Extent window_;
    MemoryPlan memory_;
    std::vector<int64_t> channels_;       // by operation
    std::vector<double> macs_per_pixel_;  // of its map, by operation; 0: no convolution
    std::vector<Axis> rows_, columns_;
};

}  // namespace pb::network
