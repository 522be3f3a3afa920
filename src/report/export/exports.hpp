// Writes results in the formats of other programs, and as Markdown. Pure: takes the contents of results files and
// returns text. A new format is one file in src/report/export, declared here, and one row of the table in exports.cpp.
#pragma once

#include "report/metrics.hpp"
#include "report/results/results_file.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// Lists the points of one or several results files for export: in the order of their plans, each with a name.

struct NamedPoint {
    std::string source;  // tells its file from the others; empty for one file
    std::string label;   // unique in its file
    const ResultsFile* file;
    const RecordedPoint* recorded;

    /// Unique among all points: "dncnn-p256-h20-b4-fp32", or "monday/dncnn-p256-h20-b4-fp32" with several files.
    [[nodiscard]] std::string name() const { return source.empty() ? label : source + "/" + label; }
    [[nodiscard]] const measure::Summary& summary() const { return recorded->summary; }
    [[nodiscard]] const record::PointTrace& trace() const { return recorded->trace; }
    /// Returns the topology of the session that measured the point.
    [[nodiscard]] const plan::Topology& topology() const { return file->topology_of(*recorded); }
};

/// Returned points refer to the files, which must outlive them.
[[nodiscard]] std::vector<NamedPoint> named_points(const ResultsFile& file);
[[nodiscard]] std::vector<NamedPoint> named_points(std::span<const ResultsFile> files);

/// Returns all points with names for programs that match points by name: one name means one set of settings, wherever
/// the point stands in its study. Labels that several points of a file share are followed by the settings in which
/// these differ ("dncnn-p256-h20-b4-fp32/threads=2").
[[nodiscard]] std::vector<NamedPoint> tracked_points(std::span<const ResultsFile> files);

/// True when the point was measured and is VALID, so its figures may be compared.
[[nodiscard]] bool is_valid(const NamedPoint& point);

/// Returns the tracked points for which is_valid() holds. Only these go to programs that compare figures.
[[nodiscard]] std::vector<NamedPoint> valid_points(std::span<const ResultsFile> files);

/// Returns one name for each file: its own name, or that of its folder for results.jsonl. Equal names get the folders
/// above them ("old/study", "new/study"). The same file given twice gets numbers.
[[nodiscard]] std::vector<std::string> source_names(std::span<const std::filesystem::path> files);
[[nodiscard]] std::vector<std::string> source_names(std::span<const ResultsFile> files);

// Writes tables as RFC 4180 text, and points as such a table for spreadsheets and data frames: results.csv and
// `patchbench report --csv`.

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
