// Results in the formats of other programs, and as Markdown. Pure: what results files hold in, text out. A new format
// is one file in src/report/export and one row of its table (formats.cpp).
#pragma once

#include "report/results_file.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

struct ExportFormat {
    const char* name;     // as it is written on the command line: "gbench"
    const char* meaning;  // whose format, and what reads it
    std::string (*text)(std::span<const ResultsFile>);
    bool valid_only = true;  // see left_out_of_exports
};

[[nodiscard]] std::span<const ExportFormat> export_formats();

/// Throws UsageError that lists the formats.
[[nodiscard]] const ExportFormat& find_export_format(std::string_view name);

/// Points that these formats leave out, with the reason: what those programs compare must be VALID. In words, one each.
[[nodiscard]] std::vector<std::string> left_out_of_exports(std::span<const ResultsFile> files);

/// To paste into an issue: of each file the verdict, the environment in two lines, the table of points, notes.
[[nodiscard]] std::string markdown_text(std::span<const ResultsFile> files);

}  // namespace pb
