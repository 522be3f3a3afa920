// Writes results in the formats of other programs, and as Markdown. Pure: takes the contents of results files and
// returns text. A new format is one file in src/report/export, declared here, and one row of the table in formats.cpp.
#pragma once

#include "report/metrics.hpp"
#include "report/results/results_file.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::report {

struct ExportFormat {
    const char* name;     // name on the command line: "gbench"
    const char* meaning;  // who defines the format, and what reads it
    std::string (*text)(std::span<const ResultsFile>);
    bool valid_only = true;  // see left_out_of_exports
};

[[nodiscard]] std::span<const ExportFormat> export_formats();

/// Throws UsageError that lists the formats when none has this name.
[[nodiscard]] const ExportFormat& find_export_format(std::string_view name);

/// Describes each point that these formats leave out, with the reason: those programs compare figures, so only VALID
/// points may go there.
[[nodiscard]] std::vector<std::string> left_out_of_exports(std::span<const ResultsFile> files);
[[nodiscard]] bool any_exported(std::span<const ResultsFile> files);

/// Returns text to paste into an issue. It gives, for each file, the verdict, two lines on the environment, the table
/// of points and the notes.
[[nodiscard]] std::string markdown_text(std::span<const ResultsFile> files);

// Each format is in the file of its name; bmf and github are in continuous_benchmarks.cpp.
[[nodiscard]] std::string bmf_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string chrome_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string gbench_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string github_smaller_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string github_bigger_text(std::span<const ResultsFile> files);

struct Figure {
    const Metric* metric;
    double value;
};

/// Returns the headline metrics that were measured, as in the FOM lines.
[[nodiscard]] std::vector<Figure> headline_figures(const measure::Summary& summary);

}  // namespace pb::report
