// Which point of a study to take: the only place that decides it. The report's star, its sentence, the terminal's table
// and results.jsonl all say what stands here. Pure.
#pragma once

#include "measure/summary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Points that differ only in how the image is cut and fed (patch, halo, batch, last_batch, slots, overlap), and which
/// of them to take. A point qualifies when it is VALID, its pixels were verified, and its seams are invisible: nothing
/// to join, or a seam error of at most its halo_tolerance and the output's rounding, with a halo whose seams show in
/// none of the points. Of those the fastest is taken; where intervals reach as far, the one that needs least memory;
/// the reason says where other work on the hosts puts the order in doubt. None is taken while points are still to be
/// measured. Simulated points, whole images, and points that measure the same as an earlier one, are not chosen among.
struct Recommendation {
    std::string label;             // what the points share
    std::vector<int64_t> points;   // indices of all of them
    std::optional<int64_t> point;  // index of the one to take; none: no point qualifies
    std::string point_label;       // its label; empty: none
    std::string reason;            // in words: why this one, or why none and what to do
};

/// The seam error of tiles where it can be seen: above the point's halo_tolerance and the rounding of its output. None
/// of an exact halo, which has no seams: what differs there is the arithmetic of the precision, and the verification
/// judges that.
[[nodiscard]] std::optional<double> visible_seams(const PointTrace& trace);

/// In the order of the study. Groups without a measured point have none.
[[nodiscard]] std::vector<Recommendation> recommend(const std::vector<PointTrace>& traces,
                                                    const std::vector<Summary>& summaries);

}  // namespace pb
