// What a study leaves behind, point by point: results.jsonl while it runs; tables, FOM lines, CSV and verdict at the
// end, made of what the file holds. Lives on the root only.
#pragma once

#include "app/folder_lock.hpp"
#include "app/progress.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "report/csv.hpp"
#include "report/jsonl_writer.hpp"
#include "report/results_file.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace pb {

/// The points of `plan` that `to_do` (see StudyRecord) marks.
[[nodiscard]] Plan rest_of(const Plan& plan, const std::string& to_do);

struct RecordOptions {
    std::filesystem::path study;  // its file, which no output may replace
    std::filesystem::path folder;
    bool resume = false;
    bool force = false;
    bool strict = false;
    CsvStyle csv_style = CsvStyle::tidy;
};

class StudyRecord {
  public:
    /// Makes the folder. With `resume` the points that an earlier session finished are kept, in a file that is replaced
    /// as a whole or not at all; without it an older file is moved aside. Throws UsageError when another run writes
    /// there, and for what has changed since the earlier session unless `force`.
    StudyRecord(RecordOptions options, const Plan& plan, const Environment& environment);

    /// One character a point of the plan: '1' when it is still to be measured.
    [[nodiscard]] const std::string& to_do() const { return to_do_; }

    /// Begins the bar, which stays at the end of what was printed: called before the first point, after the plan.
    void show_progress(const Plan& plan);

    void add(const PointTrace& trace);
    [[nodiscard]] ExitCode finish();

  private:
    void start(const Plan& plan, const Environment& environment);
    void resume(const ResultsFile& former, const Plan& plan, const Environment& environment);

    RecordOptions options_;
    std::filesystem::path file_;
    std::optional<FolderLock> lock_;
    std::string to_do_;
    std::optional<JsonlWriter> results_;
    std::optional<Progress> progress_;
};

}  // namespace pb
