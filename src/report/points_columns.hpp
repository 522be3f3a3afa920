// The columns of the table of points, and the choice of those that a terminal has room for.
#pragma once

#include "report/text_table.hpp"

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

/// What a table of one line a point has room for.
struct FittedTable {
    std::string equal;                  // columns that say the same of all points: "seam error: 0 | status: ok"
    TextTable table;                    // the others
    std::vector<std::string> left_out;  // headings of columns for which there is no room
};

[[nodiscard]] TextTable table_of(const std::vector<PointsColumn>& columns);

/// Returns all columns where they fit `width`. Else cells are brief and what is equal for all points is stated once,
/// and, where it `may_leave_out` columns, the least needed ones are left out until the rest fits.
[[nodiscard]] FittedTable fitted_table(std::vector<PointsColumn> columns, size_t width, bool may_leave_out);

}  // namespace pb::report
