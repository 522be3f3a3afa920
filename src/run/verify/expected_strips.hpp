// The columns of strips as they must be by the reach of the layers. It shares no code with network/strips, which is
// compared with it.
#pragma once

#include "run/work.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::run {

/// What is asked of strips.
struct StripRules {
    int64_t width = 0;    // of the image
    int64_t padded = 0;   // the same in multiples of the network's alignment
    int64_t columns = 0;  // of each window
    int64_t unit = 1;     // windows begin on multiples of it
    int64_t halo = 0;     // columns that a core depends on, on each side
};

/// The tiles of the first band, from left to right.
[[nodiscard]] std::vector<plan::Tile> strips_of_band(const Work& work, int64_t width);

/// Returns what is wrong with them, or nothing.
[[nodiscard]] std::optional<std::string> find_wrong_strip(const std::vector<plan::Tile>& strips,
                                                          const StripRules& rules);

}  // namespace pb::run
