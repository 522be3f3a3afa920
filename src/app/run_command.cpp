// patchbench run STUDY.yaml: Config -> Plan -> Trace -> Summary -> report.
#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/study/launches.hpp"
#include "app/study/run_study.hpp"
#include "app/terminal.hpp"
#include "comm/communicator.hpp"
#include "comm/launcher.hpp"
#include "measure/comparison.hpp"
#include "report/metrics.hpp"
#include "report/tables/tables.hpp"

#include "patchbench/base/error.hpp"

#include <CLI/CLI.hpp>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProfiled = "profile=3";

struct RunArguments {
    StudyArguments study;
    StudyRun run;
    bool dry_run = false;
    int64_t launches = 1;
    std::string launcher;
};

fs::path default_folder(const config::Config& config) { return fs::path("results") / config.study.name; }

ExitCode measure_study(const RunArguments& arguments, const Arguments& raw) {
    StudyRun study = arguments.run;
    study.load = [&] { return load_study(arguments.study); };
    study.default_folder = default_folder;
    study.trusts_model = arguments.study.trusts_model;
    study.record.inputs = {arguments.study.file};
    study.record.can_resume = true;
    return run_study(study, raw);
}

/// Plans for the ranks of the launcher, without MPI: the first of them does it.
ExitCode dry_run(const RunArguments& arguments) {
    if (!comm::is_first_process()) return ExitCode::ok;
    const PlannedRanks ranks{.count = comm::MpiSession::launcher_size().value_or(1)};
    const plan::Plan plan = plan_locally(load_study(arguments.study), ranks, arguments.study.trusts_model);
    print_text(stdout, "{}", report::plan_table(plan, std::nullopt, {terminal_width(stdout)}));
    return ExitCode::ok;
}

ExitCode launch_study(const RunArguments& arguments, const Arguments& raw) {
    const config::Config config = load_study(arguments.study);
    StudyLaunches launches{.count = arguments.launches,
                           .launcher = arguments.launcher,
                           .folder = arguments.run.out.empty() ? default_folder(config) : fs::path(arguments.run.out),
                           .inputs = inputs_of(config),
                           .resumes = arguments.run.record.resume,
                           .is_verbose = arguments.run.record.verbose || arguments.run.record.json};
    launches.inputs.insert(arguments.study.file);
    return run_launches(launches, raw);
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<RunArguments>();
    CLI::App* command = app.add_subcommand("run", "run a study and report its figures");
    add_study(*command, arguments->study);
    command->add_option("--out", arguments->run.out, "folder for results and images (default: results/<name>)")
        ->check(not_empty());
    command->add_flag("--dry-run", arguments->dry_run, "print the points and stop");
    const auto explain = [] {  // prints the text and ends
        throw CLI::CallForVersion(report::glossary() + "\n" + report::limit_glossary(), 0);
    };
    command->add_flag_callback("--explain", explain,
                               "print what each figure means and what can limit a point, and stop");
    command->add_flag("--resume", arguments->run.record.resume,
                      "go on with the results in the folder: what is finished there is not measured again");
    command
        ->add_flag("--force", arguments->run.record.force,
                   "with --resume: although the environment or the study changed")
        ->needs("--resume");
    command->add_flag_callback(
        "--profile", [arguments] { arguments->study.overrides.emplace_back(kProfiled); },
        "time the layers of each point's network one by one, after its repetitions, as --set profile=3");
    add_measuring(*command, arguments->run);
    CLI::Option* launches =
        add_number<int64_t>(*command, "--launches", arguments->launches, {1, measure::kMostLaunches}, "",
                            "start the program so often, one after the other, each with results of its own in "
                            "<out>/launch-<n>: what compare --fail-on needs, 3 at least (default: 1)");
    command
        ->add_option("--launcher", arguments->launcher,
                     "what starts the ranks of a launch, as \"mpirun -n 4\" (default: one rank, started directly)")
        ->needs(launches)
        ->check(not_empty());
    set_action(*command, chosen, [arguments](const Arguments& raw) {
        if (arguments->dry_run && !arguments->launcher.empty())
            throw UsageError("--dry-run plans for the ranks that run it: " + arguments->launcher +
                             " patchbench run STUDY --dry-run, without --launcher");
        if (arguments->dry_run) return dry_run(*arguments);
        if (arguments->launches > 1 || !arguments->launcher.empty()) return launch_study(*arguments, raw);
        return measure_study(*arguments, raw);
    });
}

}  // namespace pb::app
