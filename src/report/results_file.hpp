// results.jsonl read back: what the end of a run, `--resume`, `compare` and the reports work on. A file is somebody
// else's: whatever it holds, the answer is a value or an error with file:line.
#pragma once

#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

struct RecordedPoint {
    PointTrace trace;  // settings that an older file does not name have their default; notes are in the summary
    Summary summary;   // as it was recorded: key, label, status, validity, reasons, context, every metric
    std::map<std::string, double> metrics;  // by key, those with a value; a newer file may hold more than Summary
    int64_t session = 0;                    // 0: measured in the study's first session; n: after the n-th resumption
    int64_t line = 0;                       // in the file, from 1
    std::string json;                       // the line as it stands
};

/// A study that was interrupted goes on: where, with what and how.
struct Session {
    Environment environment;
    std::string json;  // its line: the study's own for the first session
};

struct RecordedEnd {
    Verdict verdict;
    std::string json;
};

struct ResultsFile {
    std::filesystem::path file;
    std::string name;                   // of the study
    std::vector<Session> sessions;      // at least one; the first holds the study's line
    std::vector<RecordedPoint> points;  // in the order of the file
    std::string study_summary;          // the line with what follows from several points together; empty: none
    std::optional<RecordedEnd> end;     // none: the run was cut short, or still goes on
    std::string torn;                   // the last line, where a killed writer left a part of it: not a point

    [[nodiscard]] const Environment& environment() const { return sessions.front().environment; }
    /// What a reader should be told: a torn last line, a missing end. Empty when all is well.
    [[nodiscard]] std::vector<std::string> remarks() const;
    /// The lines as they stand, without a torn one: each session's with its points, then what they say together, the
    /// end.
    [[nodiscard]] std::vector<std::string_view> lines() const;
};

/// Reads a file of schema 1.x. A last line without its end is tolerated (see `torn`), any other damage is a UsageError
/// "file:line: what, and what to do": not JSON, wrong types, missing keys, nested deeper than 64, a line above 256 MiB,
/// lines in the wrong order, another schema. An empty file, or one whose only line is torn, is one too.
[[nodiscard]] ResultsFile load_results(const std::filesystem::path& file);

/// A study's folder stands for the results.jsonl in it; any other name for itself.
[[nodiscard]] std::filesystem::path results_in(const std::filesystem::path& name);

/// The results that a name stands for: as `results_in`, and of a folder that `run --launches` made those of each launch
/// (launch-1, launch-2, ..), in order. Throws UsageError where a folder holds results of both kinds.
[[nodiscard]] std::vector<std::filesystem::path> launches_in(const std::filesystem::path& name);

/// Folder of the n-th launch, from 1.
[[nodiscard]] std::filesystem::path launch_folder(const std::filesystem::path& folder, int64_t launch);

}  // namespace pb
