// Where the rows of a band schedule lie in memory: all in one arena of a size that is known before anything runs, and
// that does not grow with the height of the image.
#pragma once

#include "network/native_layout.hpp"
#include "network/parts/band_schedule.hpp"

namespace pb::network {

/// Memory of one map.
struct BandMap {
    /// Of a ring, which keeps its rows from step to step: row y is at place y % places, tiles lie whole in it. Of other
    /// maps, which live in a part of a step: the first row that the step holds is at place 0.
    int64_t places = 0;
    int64_t row_bytes = 0;
    bool is_ring = false;
    std::optional<size_t> block;       // none: the output, which is the caller's
    std::optional<size_t> kept_block;  // of a store for rows that stay from step to step; none: nothing, or a ring
};

struct BandMemory {
    std::vector<BandMap> maps;  // by operation; without places where nothing is stored
    Arena arena;
};

/// A map whose kept rows are more than a step makes is a ring. Of all others, the kept rows are copied to a store of
/// their own, so that the maps of a step can share memory.
[[nodiscard]] BandMemory plan_bands(const BandSchedule& schedule);

}  // namespace pb::network
