// An image cut into strips of columns, each of which carries its rows by itself where bands of the whole width do not
// fit into memory. Pure arithmetic.
//
// Note [Strips]: a strip is computed as if its window were an image. The window has all columns that its core depends
// on, in whole tiles, and begins where tiles of each map begin in the whole image: so every tile that the core depends
// on lies where it lies there, and has its bits. What else the window has at its sides is wrong and is not used. All
// windows are equally wide, so that one schedule serves all; the last one ends where the image ends.
#pragma once

#include "network/receptive_field.hpp"

#include <algorithm>
#include <vector>

namespace pb::network {

/// Columns of the padded image.
struct Strip {
    Range window, core;

    friend bool operator==(const Strip&, const Strip&) = default;
};

class StripCut {
  public:
    /// `width`: of the padded image.
    StripCut(const Graph& graph, int64_t width, ComputedUnit unit);

    /// 1 where the image is hardly wider than the context of a strip: then it cannot be cut.
    [[nodiscard]] int64_t most_strips() const { return std::max<int64_t>(1, steps_); }
    /// Columns of the narrowest window with which so many strips cover the image; fewer may do with it.
    [[nodiscard]] int64_t window_of(int64_t num_strips) const;
    /// From left to right. `window`: of window_of().
    [[nodiscard]] std::vector<Strip> strips(int64_t window) const;

  private:
    // Windows and cores begin on multiples of `unit_`. A window is as wide as the context and some more units: by so
    // many the next one begins further to the right.
    int64_t width_, unit_;
    int64_t before_ = 0;   // columns of context to the left of a core, in units
    int64_t context_ = 0;  // to both sides, in units, less what is left of a unit in the width of all windows
    int64_t steps_ = 0;    // units of the image beyond that
};

}  // namespace pb::network
