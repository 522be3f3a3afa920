// Writes points as a table for spreadsheets and data frames: results.csv and `patchbench report --csv`.
#pragma once

#include "report/results_file.hpp"

#include "patchbench/base/enum_names.hpp"

#include <span>
#include <string>
#include <vector>

namespace pb::report {

/// tidy: all settings and all metrics, under their own names. reference: the columns of the studies that patchbench
/// reproduces, for scripts that read those columns (docs/reading-results.md explains each). frameworks: the columns of
/// the study that compares frameworks.
enum class CsvStyle : uint8_t { tidy, reference, frameworks };

constexpr auto enum_names(CsvStyle) {
    return std::to_array<EnumName<CsvStyle>>(
        {{CsvStyle::tidy, "tidy"}, {CsvStyle::reference, "reference"}, {CsvStyle::frameworks, "frameworks"}});
}

/// RFC 4180; lines end with \n. Each point is one row, in the order of the plan. A cell without a value is empty. With
/// several files, the first column, `file`, names the file of the point.
[[nodiscard]] std::string csv_text(std::span<const ResultsFile> files, CsvStyle style = CsvStyle::tidy);

}  // namespace pb::report
