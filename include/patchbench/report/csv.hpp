// results.csv: the same points for spreadsheets and data frames.
#pragma once

#include "patchbench/measure/summary.hpp"
#include "patchbench/run/trace.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

/// Tidy table (RFC 4180, lines end with \n): one row a point, all settings and all metrics, units in the column names,
/// empty where there is no value. `summaries` belong to `traces`, in order.
[[nodiscard]] std::string csv_text(const std::vector<PointTrace>& traces, const std::vector<Summary>& summaries);

/// csv_text() as a file that is complete or not there at all.
void write_csv(const std::vector<PointTrace>& traces, const std::vector<Summary>& summaries,
               const std::filesystem::path& file);

}  // namespace pb
