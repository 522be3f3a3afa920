// The points of one or several results files as exports list them: in the order of their plans, each with a name.
#pragma once

#include "report/results_file.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace pb {

struct NamedPoint {
    std::string source;  // what tells its file from the others; empty when there is one file only
    std::string label;   // unique in its file
    const ResultsFile* file;
    const RecordedPoint* recorded;

    /// Unique among all: "dncnn-p256-h20-b4-fp32", of several files "monday/dncnn-p256-h20-b4-fp32".
    [[nodiscard]] std::string name() const { return source.empty() ? label : source + "/" + label; }
    [[nodiscard]] const Summary& summary() const { return recorded->summary; }
    [[nodiscard]] const PointTrace& trace() const { return recorded->trace; }
    /// Of the session that measured it.
    [[nodiscard]] const Topology& topology() const;
};

/// Points into the files, which must outlive them.
[[nodiscard]] std::vector<NamedPoint> named_points(const ResultsFile& file);
[[nodiscard]] std::vector<NamedPoint> named_points(std::span<const ResultsFile> files);

/// Measured and VALID: figures that may be compared.
[[nodiscard]] bool is_valid(const NamedPoint& point);

/// Those that are: what goes to programs that track and compare figures.
[[nodiscard]] std::vector<NamedPoint> valid_points(std::span<const ResultsFile> files);

/// One name a file: that of its folder, for results.jsonl, or its own. Equal ones are told apart by the folders above
/// them ("old/study", "new/study"); the same file twice by numbers.
[[nodiscard]] std::vector<std::string> source_names(std::span<const std::filesystem::path> files);
[[nodiscard]] std::vector<std::string> source_names(std::span<const ResultsFile> files);

}  // namespace pb
