// Recommends points of a study. Only this file decides. The report's star and sentence, the terminal's table and
// results.jsonl all use its result. Pure.
#pragma once

#include "measure/summary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// A group of points that differ only in how the image is cut and fed (patch, halo, batch, last_batch, slots, overlap),
/// and the recommended one.
/// A point qualifies when it is VALID, its pixels were verified, and its seams are invisible. Seams are invisible when
/// there is only one patch, or when the seam error is at most halo_tolerance plus the rounding of output and precision,
/// and the halo shows seams in no point of the group.
/// The fastest qualified point is recommended; where intervals overlap with that of the fastest, the one that needs
/// least memory. The reason says when other work on the hosts makes the order uncertain. No point is recommended while
/// points are still to be measured. Simulated points and whole images are left out. Of points that measure the same,
/// the first that qualifies competes, or the first.
struct Recommendation {
    std::string label;             // the settings that the points share
    std::vector<int64_t> points;   // indices of all points of the group
    std::optional<int64_t> point;  // index of the recommended point; none: no point qualifies
    std::string point_label;       // empty: none
    std::string reason;            // why this one, or why none and what to do
};

/// Returns the seam error of tiles when it is visible: above the point's halo_tolerance plus the rounding of its
/// output and, below fp32, the errors of its windows. Nothing for an exact halo, which has no seams: its differences
/// come from the arithmetic of the precision, and the verification judges those.
[[nodiscard]] std::optional<double> visible_seams(const record::PointTrace& trace);

/// Returns the recommendations in the order of the study. Groups without a measured point are left out.
[[nodiscard]] std::vector<Recommendation> recommend(const StudyPoints& points);

}  // namespace pb::measure
