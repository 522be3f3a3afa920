// What speaks against a difference between two versions of a point: figures that are INVALID, other work on the
// machine, cores that one of them lacked.
#pragma once

#include "report/results_comparison.hpp"

#include <string>
#include <vector>

namespace pb::report {

/// The launches of a version.
struct Side {
    const char* name;                            // "OLD"
    std::vector<const RecordedPoint*> launches;  // one for each file with the point
};

/// A point of both versions.
struct Match {
    std::string label;
    Side before{"OLD", {}}, after{"NEW", {}};
};

/// Whether the launch gave times that can be compared, of an output that is not wrong.
[[nodiscard]] bool has_figures(const RecordedPoint& point);

/// Adds remarks and `invalid` to `point`, and makes its comparison UNSURE where a difference may come from elsewhere.
void add_doubts(const Match& match, PointComparison& point);

}  // namespace pb::report
