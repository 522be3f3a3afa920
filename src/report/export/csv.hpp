// Writes tables as RFC 4180 text, and points as such a table for spreadsheets and data frames: results.csv and
// `patchbench report --csv`.
#pragma once

#include "report/export/named_points.hpp"
#include "report/results/results_file.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::report {

/// Pairs of column and cell, in order.
using CsvRow = std::vector<std::pair<std::string, std::string>>;

/// Makes the row of a point, also of one without values.
using RowOf = std::function<CsvRow(const NamedPoint&)>;

/// Returns a row for each point, below the columns of a point without values: so header and rows always agree. Lines
/// end with \n. `has_files`: points of several files, which each row names first.
[[nodiscard]] std::string csv_of(const std::vector<NamedPoint>& points, bool has_files, const RowOf& row_of);

/// A number becomes the shortest text that reads back as the same number. It becomes empty when it is absent, NaN or
// infinite.
[[nodiscard]] std::string number_cell(const std::optional<double>& value);
template <class Integer>
[[nodiscard]] std::string integer_cell(const std::optional<Integer>& value) {
    return value ? std::to_string(*value) : "";
}

/// Writes a point under the column names of the studies that patchbench reproduces (study_columns.cpp).
[[nodiscard]] CsvRow reference_row(const NamedPoint& point);

/// Writes engines under the column names of a published study of frameworks on a CPU: CSV, a row a measured point. The
/// first columns say which network and precision; then come the study's own seven: mean latency, CPU and resident
/// memory, absolute and as multiples of the least among the rows of the same network and precision. Source of the
/// columns: benchmark_results.csv of https://github.com/analystanand/benchmarks.
[[nodiscard]] std::string frameworks_text(std::span<const ResultsFile> files);

/// tidy: all settings and all metrics, under their own names. reference: the columns of the studies that patchbench
/// reproduces, for scripts that read those columns (docs/reading-results.md explains each). frameworks: the columns of
/// the study that compares frameworks.
enum class CsvStyle : uint8_t { tidy, reference, frameworks };

/// RFC 4180; lines end with \n. Each point is one row, in the order of the plan. A cell without a value is empty. With
/// several files, the first column, `file`, names the file of the point.
[[nodiscard]] std::string csv_text(std::span<const ResultsFile> files, CsvStyle style = CsvStyle::tidy);

}  // namespace pb::report
