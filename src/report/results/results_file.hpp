// Reads results.jsonl, for the end of a run, `--resume`, `compare` and the reports. A file is untrusted: reading it
// gives a value or an error with file:line, whatever the file holds.
#pragma once

#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pb::report {

inline constexpr const char* kResultsName = "results.jsonl";  // in the folder of a study

/// Reads a text file line by line and limits the length of a line.
class LineReader {
  public:
    static constexpr size_t kMaxLineBytes = size_t{256} << 20;

    struct Line {
        std::string text;  // without the line end
        int64_t number = 0;
        bool ended = true;  // false: the file ends before the line does
    };

    /// Throws UsageError that names the file and the reason why it cannot be read.
    explicit LineReader(const std::filesystem::path& file);
    /// Returns nothing at the end of the file. Throws UsageError "file:line: ..." for a line above kMaxLineBytes.
    [[nodiscard]] std::optional<Line> next();

  private:
    [[nodiscard]] bool fill();

    std::filesystem::path file_;
    std::ifstream stream_;
    std::string chunk_;
    size_t position_ = 0;
    int64_t number_ = 0;
};

struct RecordedPoint {
    record::PointTrace trace;  // settings missing in an older file have their default; notes are in summary
    measure::Summary summary;  // as recorded: key, label, status, validity, reasons, context, metrics
    int64_t session = 0;       // 0: the study's first session; n: after the n-th --resume
    int64_t line = 0;          // line number in the file, from 1
    std::string json;          // the line as written
};

/// One uninterrupted part of a study: where it ran, with which program, and how it was started.
struct Session {
    record::Environment environment;
    std::string json;  // its line; in the first session the study's line
};

struct RecordedEnd {
    measure::Verdict verdict;
    std::string json;
};

struct ResultsFile {
    std::filesystem::path file;
    std::string name;                   // name of the study
    std::vector<Session> sessions;      // at least one; the first holds the study's line
    std::vector<RecordedPoint> points;  // in the order of the file
    std::string study_summary;          // the line with figures from several points; empty: none
    std::optional<RecordedEnd> end;     // none: the run was cut short or is still going on
    std::string torn;                   // an incomplete last line of a killed writer: not a point

    [[nodiscard]] const record::Environment& environment() const { return sessions.front().environment; }
    /// Returns the topology of the session that measured the point.
    [[nodiscard]] const plan::Topology& topology_of(const RecordedPoint& point) const;
    /// Returns what each of the points of a session measured.
    [[nodiscard]] std::vector<const plan::Point*> planned_points(int64_t session) const;
    /// Returns the points in the order of the plan. In a resumed study they are in the order in which they were
    /// measured.
    [[nodiscard]] std::vector<const RecordedPoint*> in_order() const;
    /// Returns the same as measure takes them; they refer to this file.
    [[nodiscard]] measure::StudyPoints study_points() const;
    [[nodiscard]] std::vector<measure::Summary> summaries() const;
    /// Returns what a reader should know: a torn last line, a missing end. Empty when the file is complete.
    [[nodiscard]] std::vector<std::string> remarks() const;
    /// What remarks() says of a torn last line.
    [[nodiscard]] std::string torn_remark() const;
    /// Returns the lines as written, without a torn one: each session's line with its points, then the study summary
    /// and the end.
    [[nodiscard]] std::vector<std::string_view> lines() const;
};

/// Reads a file of schema 1.x. Accepts a last line without its end (see `torn`). Any other damage is a UsageError
/// "file:line: what, and what to do": not JSON, wrong types, missing keys, nesting deeper than 64, a line above 256
/// MiB, lines in the wrong order, another schema. An empty file and a file whose only line is torn are errors as well.
[[nodiscard]] ResultsFile load_results(const std::filesystem::path& file);

/// Returns the results files that a name stands for, in order: those of the launches (launch-1, launch-2, ..) in the
/// folder of `run --launches`, the results.jsonl in the folder of a study; any other name stands for itself. Throws
/// UsageError where a folder holds results of both kinds.
[[nodiscard]] std::vector<std::filesystem::path> launches_in(const std::filesystem::path& name);

/// Returns the folder of the n-th launch, counted from 1.
[[nodiscard]] std::filesystem::path launch_folder(const std::filesystem::path& folder, int64_t launch);

/// Returns the number of such a folder, or 0 for another name.
[[nodiscard]] int64_t launch_number(const std::filesystem::path& launch);

/// Returns the folders of launches that lie in `folder`, in the order of their numbers, of which some may be missing.
[[nodiscard]] std::vector<std::filesystem::path> launch_folders_in(const std::filesystem::path& folder);

}  // namespace pb::report
