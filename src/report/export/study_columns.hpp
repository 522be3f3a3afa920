// Writes points under the column names of published studies: those that patchbench reproduces, and one that compares
// frameworks on a CPU.
#pragma once

#include "report/export/csv.hpp"
#include "report/export/named_points.hpp"
#include "report/results/results_file.hpp"

#include <span>
#include <string>

namespace pb::report {

/// Writes a point under the column names of the studies that patchbench reproduces.
[[nodiscard]] CsvRow reference_row(const NamedPoint& point);

/// Writes engines under the column names of a published study of frameworks on a CPU: CSV, a row a measured point. The
/// first columns say which network and precision; then come the study's own seven: mean latency, CPU and resident
/// memory, absolute and as multiples of the least among the rows of the same network and precision. Source of the
/// columns: benchmark_results.csv of https://github.com/analystanand/benchmarks.
[[nodiscard]] std::string frameworks_text(std::span<const ResultsFile> files);

}  // namespace pb::report
