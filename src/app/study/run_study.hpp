// Loads, plans and runs a study on all ranks and reports it: what `run`, `bench` and `plan` share.
#pragma once

#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/study/study_record.hpp"
#include "config/settings.hpp"
#include "plan/plan.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <set>

namespace pb::app {

/// Calls load_config, then read_measured_calls. Throws UsageError.
[[nodiscard]] config::Config load_study(const StudyArguments& arguments);

/// Sets `timed.table` of simulated points from the results that `timed.results` names. Throws UsageError.
void read_measured_calls(config::Config& config);

/// The files that the points of a study read. May hold names that are no files, as that of published weights.
[[nodiscard]] std::set<std::filesystem::path> inputs_of(const config::Config& config);

/// What a study is planned for without a launch: on one host, with this machine's processor.
struct PlannedRanks {
    int count = 1;
    int per_node = 0;                          // 0: all on one
    std::optional<double> bandwidth_gb_per_s;  // between ranks, each way
    std::optional<double> gpu_gib;  // each has a GPU of so much memory; none: where a point wants one, of any memory
};

/// Plans the study as `run` would with such ranks, with the images and weights of this machine.
[[nodiscard]] plan::Plan plan_locally(config::Config config, const PlannedRanks& ranks, bool trusts_model);

/// A study that `run` or `bench` measures.
struct StudyRun {
    std::function<config::Config()> load;  // on each rank; throws UsageError
    std::string out;                       // the folder of the results; empty: what `default_folder` returns
    std::function<std::filesystem::path(const config::Config&)> default_folder;  // on the root, when the plan is made
    RecordOptions record;                                                        // but its folder
    double max_time_s = 0;                                                       // 0: no limit
    bool trusts_model = false;                                                   // networks that are code may run
};

/// Starts MPI, runs the study, prints and writes its results. Returns the exit code of all ranks.
[[nodiscard]] ExitCode run_study(const StudyRun& study, const Arguments& raw);

/// Adds the options that `run` and `bench` have in common.
void add_measuring(CLI::App& command, StudyRun& study);

}  // namespace pb::app
