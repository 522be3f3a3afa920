// Writes the outputs of a study: results.jsonl, point by point while it runs; at the end the tables, FOM lines, CSV and
// verdict, made from the contents of that file. Exists on the root only.
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

namespace pb::app {

/// Returns the points of `plan` that `to_do` marks (see StudyRecord).
[[nodiscard]] plan::Plan rest_of(const plan::Plan& plan, const std::string& to_do);

struct RecordOptions {
    std::filesystem::path study;  // the study's file, which no output may replace
    std::filesystem::path folder;
    bool resume = false;
    bool force = false;
    bool strict = false;
    report::CsvStyle csv_style = report::CsvStyle::tidy;
};

class StudyRecord {
  public:
    /// Makes the folder. With `resume`, keeps the points that an earlier session finished, in a file that is replaced
    /// either completely or not at all. Without it, an older file is renamed. Throws UsageError when another run writes
    /// into the folder, and when something has changed since the earlier session, unless `force` is set.
    StudyRecord(RecordOptions options, const plan::Plan& plan, const record::Environment& environment);

    /// Holds one character for each point of the plan: '1' when it is still to be measured.
    [[nodiscard]] const std::string& to_do() const { return to_do_; }

    /// Starts the progress bar, which stays below the printed lines. Call it after the plan is printed and before the
    /// first point, and tell it what the root does until finish().
    [[nodiscard]] run::ProgressListener& show_progress(const plan::Plan& plan);

    void add(const record::PointTrace& trace);
    [[nodiscard]] ExitCode finish();

  private:
    void start(const plan::Plan& plan, const record::Environment& environment);
    void resume(const report::ResultsFile& former, const plan::Plan& plan, const record::Environment& environment);

    RecordOptions options_;
    std::filesystem::path file_;
    std::optional<FolderLock> lock_;
    std::string to_do_;
    std::optional<report::JsonlWriter> results_;
    std::optional<Progress> progress_;
};

}  // namespace pb::app
