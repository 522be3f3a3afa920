// results.jsonl: the truth of a study. A line for the study, one a point, one for what points say
// together where they do, one at the end; docs/results.schema.json is
// the schema of each line. Absent figures, NaN and infinity are null, never 0.
#pragma once

#include "config/settings.hpp"
#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

inline constexpr const char* kResultsSchemaVersion = "1.0";

/// Moves an older `file` out of the way, to results-<time of its last change>.jsonl beside it. Returns the new name;
/// empty when there was none, or an empty one. Throws Error.
[[nodiscard]] std::filesystem::path move_aside(const std::filesystem::path& file);

/// The line before the points of a session that goes on with a study.
[[nodiscard]] std::string resume_line(const Environment& environment);

/// Each line is written, flushed and synced before the call returns: a killed run keeps its finished points. Methods
/// throw Error (full disk, ...) naming the file; a line that could not be written whole is taken back.
class JsonlWriter {
  public:
    /// Writes the study's line into a new file, in place of an older one. Throws UsageError when it cannot be created.
    JsonlWriter(std::filesystem::path file, const StudySettings& study, const Environment& environment);
    /// Goes on with an older file: it becomes `lines`, as a whole or not at all. Throws Error.
    JsonlWriter(std::filesystem::path file, const std::vector<std::string>& lines);
    ~JsonlWriter();
    JsonlWriter(const JsonlWriter&) = delete;
    JsonlWriter& operator=(const JsonlWriter&) = delete;

    void write_point(const PointTrace& trace, const Summary& summary);
    void write_study_summary(const StudySummary& study);  // nothing for an empty one
    void write_end(const Verdict& verdict);

  private:
    void open(int flags);
    void require_in_place() const;
    void write_line(std::string line);
    [[noreturn]] void fail(const char* action) const;

    std::filesystem::path file_;
    int descriptor_ = -1;
};

}  // namespace pb
