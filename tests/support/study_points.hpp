// The points of a study, of which tests make traces and summaries.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/error.hpp"

#include <vector>

namespace pb::measure {

/// Refers to both. Throws Error unless every trace has its summary.
[[nodiscard]] inline StudyPoints study_points(const std::vector<record::PointTrace>& traces,
                                              const std::vector<Summary>& summaries) {
    require(traces.size() == summaries.size(), "study_points: every trace needs its summary");
    StudyPoints points;
    for (size_t i = 0; i < traces.size(); ++i) points.push_back({&traces[i], &summaries[i]});
    return points;
}

}  // namespace pb::measure
