// A second implementation of the tile geometry, written from its definition: the windows and cores that a point must
// have. It shares no code with plan/tile_grid, which is compared with it.
#pragma once

#include "run/work.hpp"

#include <cstdint>
#include <vector>

namespace pb::run {

class ExpectedTiles {
  public:
    ExpectedTiles(Extent image, Extent patch, int64_t halo, int64_t alignment);

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

}  // namespace pb::run
