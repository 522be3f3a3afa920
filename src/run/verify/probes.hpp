// Where to look: regions that cross seams, chosen by a seed, the same for every run of a point.
#pragma once

#include "plan/plan.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/window_source.hpp"
#include "run/work.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb {

/// Edge in pixels of a seam probe.
inline constexpr int64_t kProbeEdge = 64;

inline constexpr uint64_t kProbeSeed = 20;

/// Up to `count` different squares of kProbeEdge (smaller at the border), aligned, each centred on a corner where
/// patches meet; on the middle of a seam where the image is one patch high or wide; none for a single patch.
[[nodiscard]] std::vector<Rect> seam_probes(const TileGrid& grid, int64_t count);

/// Up to `count` different indices in `range`, spread by a seed, ascending.
[[nodiscard]] std::vector<int64_t> pick(Range range, int64_t count, uint64_t seed);

/// All indices of `runs` in an order that a seed makes.
[[nodiscard]] std::vector<int64_t> shuffled(const std::vector<Range>& runs, uint64_t seed);

/// As `shuffled`, without the windows that `output` cannot give back (a checksum remembers some).
[[nodiscard]] std::vector<int64_t> readable_windows(const std::vector<Range>& runs, const Work& work,
                                                    const CoreSink& output, uint64_t seed);

struct Anomalies {
    std::vector<int64_t> windows;  // the worst first
    bool has_unchanged = false;    // one came out as it went in: no network does that to noise
};

/// Windows of `runs` that are worth a look, by all of their output: the one with the most samples that are odd
/// (anomaly_tracker.hpp), and those that the network changed most and least, by the mean absolute difference from what
/// it saw. The least comes before the most where it is next to nothing.
[[nodiscard]] Anomalies find_anomalies(CoreSink& output, WindowSource& input, const Work& work,
                                       const std::vector<Range>& runs);

}  // namespace pb
