// The table of points in its parts, for the terminal and for Markdown.
#pragma once

#include "measure/recommendation.hpp"
#include "measure/summary.hpp"
#include "report/text_table.hpp"

#include <string>
#include <vector>

namespace pb {

struct PointsTable {
    std::string shared;                // what all points have in common; may be empty
    TextTable table;                   // one row a point
    std::vector<std::string> remarks;  // reasons and notes, each with the points it holds for
    struct Limited {
        std::string points;    // "host-bound: dncnn-p64, dncnn-p96"
        std::string evidence;  // of the clearest of them
        std::string advice;    // "try: ..."
    };
    std::vector<Limited> limits;  // what limits the points, by class
};

/// Of one point or more. The points that are recommended bear a star.
[[nodiscard]] PointsTable make_points_table(const std::vector<Summary>& summaries,
                                            const std::vector<Recommendation>& recommendations);

}  // namespace pb
