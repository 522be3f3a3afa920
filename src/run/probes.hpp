// Where to look: regions that cross seams, chosen by a seed, the same for every run of a point.
#pragma once

#include "patchbench/plan/plan.hpp"
#include "patchbench/run/pixel_ways.hpp"
#include "patchbench/run/work.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb {

/// Edge in pixels of a seam probe.
inline constexpr int64_t kProbeEdge = 64;

/// Up to `count` different squares of kProbeEdge (smaller at the border), aligned, each centred on a corner where
/// patches meet; on the middle of a seam where the image is one patch high or wide; none for a single patch.
[[nodiscard]] std::vector<Rect> seam_probes(const TileGrid& grid, int64_t count);

/// Up to `count` different indices in `range`, spread by a seed, ascending.
[[nodiscard]] std::vector<int64_t> pick(Range range, int64_t count, uint64_t seed);

/// What a window of `runs` keeps that is worth a look, by all of their output.
[[nodiscard]] std::optional<Rect> find_suspect(Output& output, const Work& work, const std::vector<Range>& runs);

}  // namespace pb
