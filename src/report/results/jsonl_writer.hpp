// Writes results.jsonl, the complete record of a study: a line for the study, one for each point, one for the figures
// that follow from several points (if any), and one at the end. docs/results.schema.json is the schema of each line.
// Absent figures, NaN and infinity are null, never 0.
#pragma once

#include "base/descriptor.hpp"
#include "config/settings.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace pb::report {

inline constexpr const char* kResultsSchemaVersion = "1.0";

/// Moves an older `file` into the folder earlier-<time of its last change> beside it, with the images that it names and
/// with `made_of_it`, names of files or folders there: a later run writes files of these names. `inputs` stay where
/// they are. Returns the folder, or an empty path when there was no file or an empty one. Throws Error.
[[nodiscard]] std::filesystem::path move_aside(const std::filesystem::path& file,
                                               std::span<const char* const> made_of_it = {},
                                               const std::set<std::filesystem::path>& inputs = {});

/// Moves folders that lie side by side into the folder earlier-<time of the last change of the first> beside them.
/// Returns that folder, or an empty path when there are none. Throws Error.
[[nodiscard]] std::filesystem::path move_folders_aside(const std::vector<std::filesystem::path>& folders);

/// Returns the line that comes before the points of a resumed session.
[[nodiscard]] std::string resume_line(const record::Environment& environment);

/// Writes, flushes and syncs each line before the call returns, so a killed run keeps its finished points. Methods
/// throw Error with the file's name (full disk, ...). A line that could not be written whole is removed again.
class JsonlWriter {
  public:
    /// Writes the study's line into a new file, which replaces an older one. Throws UsageError when it cannot be
    /// created.
    JsonlWriter(std::filesystem::path file, const config::StudySettings& study, const record::Environment& environment);
    /// Continues an older file. Replaces its contents by `lines`, either completely or not at all. Throws Error.
    JsonlWriter(std::filesystem::path file, const std::vector<std::string>& lines);

    void write_point(const record::PointTrace& trace, const measure::Summary& summary);
    void write_study_summary(const measure::StudySummary& study);  // an empty one writes nothing
    void write_end(const measure::Verdict& verdict);

  private:
    void open(int flags);
    void require_in_place() const;
    void write_line(std::string line);
    [[noreturn]] void fail(const char* action) const;

    std::filesystem::path file_;
    Descriptor descriptor_;
};

}  // namespace pb::report
