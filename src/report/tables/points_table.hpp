// The parts of the table of points, for the terminal and for Markdown.
#pragma once

#include "measure/study/recommendation.hpp"
#include "measure/summary.hpp"
#include "report/tables/text_table.hpp"

#include <string>
#include <vector>

namespace pb::report {

struct PointsColumn {
    std::string heading;
    TextTable::Align align;
    std::vector<std::string> cells;  // one for each point
    std::vector<std::string> brief;  // of a narrow table; empty: the same
    int need = 0;                    // a narrow table leaves out columns from 1 on, in this order; 0: it keeps them
};

[[nodiscard]] TextTable table_of(const std::vector<PointsColumn>& columns);

struct PointsTable {
    std::string shared;                 // settings and context common to all points; may be empty
    std::vector<PointsColumn> columns;  // with one cell for each point
    std::vector<std::string> remarks;   // reasons and notes, each with its points
    struct Limited {
        std::string points;    // "host-bound: dncnn-p64, dncnn-p96"
        std::string counted;   // "host-bound: 2 points"
        std::string evidence;  // for the clearest case
        std::string advice;    // "try: ..."
    };
    std::vector<Limited> limits;  // what limits the points, grouped by class
};

/// Needs at least one point. Recommended points are marked with a star.
[[nodiscard]] PointsTable make_points_table(const std::vector<measure::Summary>& summaries,
                                            const std::vector<measure::Recommendation>& recommendations);

}  // namespace pb::report
