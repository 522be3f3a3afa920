// A second implementation of the tile geometry, written from its definition: the windows and cores that a point must
// have, and the columns of strips. It shares no code with plan/tile_grid and network/strips, which are compared with
// it.
#pragma once

#include "run/work.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::run {

class ExpectedTiles {
  public:
    /// Windows begin at multiples of `alignment`, their extents and that of the padded image are multiples of `step`.
    ExpectedTiles(Extent image, Extent patch, int64_t halo, int64_t alignment, int64_t step);

    [[nodiscard]] int64_t count() const { return std::ssize(rows_) * std::ssize(columns_); }
    /// Returns a tile by index, row-major over the distinct windows.
    [[nodiscard]] plan::Tile tile(int64_t index) const;

  private:
    struct Stretch {
        int64_t window;      // first pixel
        int64_t core;        // first pixel
        int64_t core_count;  // pixels
    };
    [[nodiscard]] static std::vector<Stretch> stretches(int64_t length, int64_t patch, int64_t halo, int64_t edge,
                                                        int64_t padded);

    Extent window_;
    std::vector<Stretch> rows_, columns_;
};

/// What is asked of strips.
struct StripRules {
    int64_t width = 0;               // of the image
    int64_t padded = 0;              // the same in multiples of the network's alignment
    int64_t columns = 0;             // of each window
    int64_t unit = 1;                // windows begin on multiples of it
    int64_t before = 0, behind = 0;  // columns that a core depends on to its left and to its right
};

/// The tiles of the first band, from left to right.
[[nodiscard]] std::vector<plan::Tile> strips_of_band(const Work& work, int64_t width);

/// Returns what is wrong with them, or nothing.
[[nodiscard]] std::optional<std::string> find_wrong_strip(const std::vector<plan::Tile>& strips,
                                                          const StripRules& rules);

}  // namespace pb::run
