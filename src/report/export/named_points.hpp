// Lists the points of one or several results files for export: in the order of their plans, each with a name.
#pragma once

#include "report/results/results_file.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace pb::report {

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

}  // namespace pb::report
