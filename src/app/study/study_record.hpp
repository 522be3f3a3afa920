// Writes the outputs of a study: results.jsonl, point by point while it runs; at the end the tables, FOM lines, CSV and
// verdict, made from the contents of that file. Exists on the root only.
#pragma once

#include "app/study/progress.hpp"
#include "base/descriptor.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "report/export/exports.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/results/results_file.hpp"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pb::app {

/// Allows only one run at a time to write into a folder. A second run would mix its lines with those of the first.
/// The lock holds until the descriptor is closed or the process ends in any way. Throws UsageError when another process
/// holds it. Always succeeds on file systems without locks.
[[nodiscard]] Descriptor lock_folder(const std::filesystem::path& folder);

/// Returns these points of `plan`.
[[nodiscard]] plan::Plan rest_of(const plan::Plan& plan, const std::vector<size_t>& points);

struct RecordOptions {
    std::set<std::filesystem::path> inputs;  // files that no output may replace: the study and what its points read
    std::filesystem::path folder;
    bool can_resume = false;  // the command has --resume
    bool resume = false;
    bool force = false;
    bool strict = false;
    report::CsvStyle csv_style = report::CsvStyle::tidy;
    bool verbose = false;  // print the ranks and FOM lines of any number of points
    bool json = false;     // standard output gets the lines of results.jsonl, standard error the text
};

class StudyRecord {
  public:
    /// Makes the folder. With `resume`, keeps the points that an earlier session finished, in a file that is replaced
    /// either completely or not at all. Without it, an older file is renamed. Throws UsageError when another run writes
    /// into the folder, and when something has changed since the earlier session, unless `force` is set.
    StudyRecord(RecordOptions options, const plan::Plan& plan, const record::Environment& environment);

    /// The points of the plan that are still to be measured, by their places in it.
    [[nodiscard]] const std::vector<size_t>& to_do() const { return to_do_; }

    /// Names, without folders, of the images and previews of finished points, which no other point may replace.
    [[nodiscard]] const std::vector<std::string>& kept_files() const { return kept_files_; }

    /// Starts the progress bar, which stays below the printed lines. Call it after the plan is printed and before the
    /// first point, and tell it what the root does until finish().
    [[nodiscard]] run::ProgressListener& show_progress(const plan::Plan& plan);

    void add(const record::PointTrace& trace);
    [[nodiscard]] ExitCode finish();

  private:
    void start(const plan::Plan& plan, const record::Environment& environment);
    void print(const report::ResultsFile& results, const measure::StudySummary& study, const measure::Verdict& verdict,
               bool files_written) const;
    void resume(const report::ResultsFile& former, const plan::Plan& plan, const record::Environment& environment);
    void keep_files_of(const record::PointTrace& trace);

    RecordOptions options_;
    std::filesystem::path file_;
    Descriptor lock_;
    std::vector<size_t> to_do_;
    std::vector<std::string> kept_files_;
    std::optional<report::JsonlWriter> results_;
    std::optional<Progress> progress_;
};

}  // namespace pb::app
