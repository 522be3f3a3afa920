// Writes a point under the column names of the studies that patchbench reproduces.
#pragma once

#include "report/csv_table.hpp"
#include "report/named_points.hpp"

namespace pb::report {

[[nodiscard]] CsvRow reference_row(const NamedPoint& point);

}  // namespace pb::report
