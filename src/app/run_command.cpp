// patchbench run STUDY.yaml: Config -> Plan -> Trace -> Summary -> report.
#include "app/commands.hpp"
#include "app/launches.hpp"
#include "app/load_study.hpp"
#include "app/options.hpp"
#include "app/session.hpp"
#include "app/study_record.hpp"
#include "comm/interruption.hpp"
#include "image/image_file.hpp"
#include "measure/comparison.hpp"
#include "report/metrics.hpp"
#include "report/report.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/launch.hpp"
#include "run/pixels/image_source.hpp"
#include "run/run.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <set>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

struct RunArguments {
    StudyArguments study;
    std::string out;
    bool dry_run = false;
    bool strict = false;
    bool resume = false;
    bool force = false;
    double max_time_s = 0;  // 0: no limit
    report::CsvStyle csv_style = report::CsvStyle::tidy;
    int64_t launches = 1;
    std::string launcher;
};

/// Returns the device setting that all points share. If they differ, returns automatic.
config::DeviceChoice common_device(const config::Config& config) {
    const config::DeviceChoice first = config.points.front().device;
    const bool all_equal = std::all_of(config.points.begin(), config.points.end(),
                                       [&](const config::PointSettings& point) { return point.device == first; });
    return all_equal ? first : config::DeviceChoice::automatic;
}

/// Looks for the weights of every point before the first one runs, so that a missing file does not end a long run.
void check_weights(const plan::Plan& plan) {
    std::set<std::string> seen;
    for (const plan::Point& point : plan.points) {
        if (!point.refusal.empty() || plan::is_simulated(point)) continue;
        const auto& settings = point.settings;
        const std::string key =
            fmt::format("{}{}{}", name_of(settings.network), settings.weights, point.source.channels);
        if (seen.insert(key).second && !settings.weights.starts_with("seed:"))
            (void)run::find_weights(settings.network, settings.weights, point.source.channels);
    }
}

fs::path output_folder(const RunArguments& arguments, const config::Config& config) {
    return arguments.out.empty() ? fs::path("results") / config.study.name : fs::path(arguments.out);
}

run::OutputNames output_names(const fs::path& folder, bool save_images) {
    return [folder, save_images](const plan::Point& point) {
        const std::string name = fmt::format("{:03}-", point.index) + plan::label_of(point);
        run::PointFiles files{.folder = folder, .preview = "previews/" + name};
        if (!save_images) return files;
        const std::string& source = point.settings.image.path;
        const bool raw = !point.settings.image.raw.empty();
        const char* for_scenes = point.settings.output == config::OutputKind::file ? ".tif" : ".png";
        const std::string extension = source.empty() ? for_scenes
                                      : raw          ? ".raw"
                                                     : fs::path(source).extension().string();
        files.image = folder / (name + (image::is_lossy(name + extension) ? ".png" : extension));
        return files;
    };
}

ExitCode run_study(const RunArguments& arguments, const Arguments& raw, RankSession& session) {
    const comm::Communicator& world = session.world();
    run::require_same_software(world);
    if (arguments.max_time_s > 0) comm::interrupt_after(arguments.max_time_s);
    config::Config config;
    run::together(world, [&] { config = load_study(arguments.study); });
    session.watch(config.study.watchdog_s);
    const plan::Topology topology = run::gather_topology(world, {common_device(config), config.study.device_sharing});
    if (world.is_root()) print_nodes(topology);
    const fs::path folder = output_folder(arguments, config);
    run::Runner runner(world, topology, config.study);
    plan::Plan plan;
    std::unique_ptr<StudyRecord> record;
    run::together(world, [&] {
        plan = plan::make_plan(config, topology, run::source_facts, [&](const auto& settings, int64_t channels) {
            return runner.shape_of(settings, channels);
        });
        if (!world.is_root()) return;
        check_weights(plan);
        record = std::make_unique<StudyRecord>(RecordOptions{arguments.study.file, folder, arguments.resume,
                                                             arguments.force, arguments.strict, arguments.csv_style},
                                               plan, run::describe_environment(topology, raw.argc, raw.argv));
        fmt::print("{}\n", report::plan_table(plan));
        std::fflush(stdout);
        runner.report_to(&record->show_progress(plan));
    });
    plan = rest_of(plan, world.broadcast(record ? record->to_do() : ""));
    ExitCode code = ExitCode::ok;
    run::run_plan(plan, runner, output_names(folder, config.study.save_images), [&](const record::PointTrace& trace) {
        run::together(world, [&] {
            if (record) record->add(trace);
        });
    });
    run::together(world, [&] {
        if (record) code = record->finish();
    });
    return static_cast<ExitCode>(static_cast<int>(world.broadcast(static_cast<double>(code))));
}

ExitCode dry_run(const RunArguments& arguments) {
    const config::Config config = load_study(arguments.study);
    fmt::print("{}", report::plan_table(plan_locally(config, 1)));
    return ExitCode::ok;
}

ExitCode launch_study(const RunArguments& arguments, const Arguments& raw) {
    const config::Config config = load_study(arguments.study);
    return run_launches({arguments.launches, arguments.launcher, output_folder(arguments, config)}, raw);
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<RunArguments>();
    CLI::App* command = app.add_subcommand("run", "run a study and report its figures");
    add_study(*command, arguments->study);
    command->add_option("--out", arguments->out, "folder for results and images (default: results/<name>)");
    command->add_flag("--dry-run", arguments->dry_run, "print the points and stop");
    command->add_flag("--strict", arguments->strict, "exit with 4 when a figure is INVALID");
    command->add_flag_callback(
        "--explain",
        [] {
            throw CLI::CallForVersion(report::glossary() + "\n" + report::limit_glossary(), 0);
        },  // prints the text and ends
        "print what each figure means and what can limit a point, and stop");
    command->add_flag("--resume", arguments->resume,
                      "go on with the results in the folder: what is finished there is not measured again");
    command->add_flag("--force", arguments->force, "with --resume: although the environment or the study changed")
        ->needs("--resume");
    add_number<double>(*command, "--max-time", arguments->max_time_s, {1e-3, config::kMaxSeconds * 366}, "s",
                       "time after which no point is started and the current one is dropped; exit code 5");
    CLI::Option* launches =
        add_number<int64_t>(*command, "--launches", arguments->launches, {1, measure::kMostLaunches}, "",
                            "start the program so often, one after the other, each with results of its own in "
                            "<out>/launch-<n>: what compare --fail-on needs, 3 at least");
    command
        ->add_option("--launcher", arguments->launcher,
                     "what starts the ranks of a launch, as \"mpirun -n 4\" (default: one rank, started directly)")
        ->needs(launches);
    add_choice(*command, "--csv-style", arguments->csv_style, "columns of results.csv (default: tidy)");
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            if (arguments->dry_run) return dry_run(*arguments);
            if (arguments->launches > 1) return launch_study(*arguments, raw);
            spdlog::set_default_logger(spdlog::stderr_logger_st("patchbench"));
            spdlog::set_pattern("%H:%M:%S %v");
            return with_ranks(raw, [&](RankSession& session) { return run_study(*arguments, raw, session); });
        };
    });
}

}  // namespace pb::app
