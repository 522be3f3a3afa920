// patchbench run STUDY.yaml: Config -> Plan -> Trace -> Summary -> report.
#include "app/commands.hpp"
#include "app/session.hpp"

#include "patchbench/config/load_yaml.hpp"
#include "patchbench/measure/study_summary.hpp"
#include "patchbench/measure/summary.hpp"
#include "patchbench/measure/verdict.hpp"
#include "patchbench/report/csv.hpp"
#include "patchbench/report/html.hpp"
#include "patchbench/report/jsonl_writer.hpp"
#include "patchbench/report/metrics.hpp"
#include "patchbench/report/report.hpp"
#include "patchbench/run/agreement.hpp"
#include "patchbench/run/environment.hpp"
#include "patchbench/run/image_source.hpp"
#include "patchbench/run/launch.hpp"
#include "patchbench/run/run.hpp"
#include "patchbench/run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <set>

namespace pb {

namespace {

namespace fs = std::filesystem;

struct RunArguments {
    std::string study;
    std::vector<std::string> overrides;
    std::string out;
    bool dry_run = false;
    bool strict = false;
};

/// The wish that all points share; points that differ leave the choice to the machine.
DeviceChoice common_device(const Config& config) {
    const DeviceChoice first = config.points.front().device;
    const bool all_equal = std::all_of(config.points.begin(), config.points.end(),
                                       [&](const PointSettings& point) { return point.device == first; });
    return all_equal ? first : DeviceChoice::automatic;
}

/// What would fail after an hour fails now: weights of every point are looked for before the first runs.
void check_weights(const Plan& plan) {
    std::set<std::string> seen;
    for (const Point& point : plan.points) {
        const auto& settings = point.settings;
        const std::string key =
            std::string(name_of(settings.network)) + settings.weights + std::to_string(point.source.channels);
        if (seen.insert(key).second && !settings.weights.starts_with("seed:"))
            (void)find_weights(settings.network, settings.weights, point.source.channels);
    }
}

/// Collects what a study leaves behind, point by point. Lives on the root only.
class StudyRecord {
  public:
    StudyRecord(const fs::path& folder, const Plan& plan, const Environment& environment)
        : folder_(folder),
          environment_(environment),
          num_points_(plan.points.size()),
          results_(folder / "results.jsonl", plan.study, environment) {}

    void add(const PointTrace& trace) {
        summaries_.push_back(summarise(trace));
        results_.write_point(trace, summaries_.back());
        traces_.push_back(trace);
        spdlog::info("[{}/{}] {}: {}{}", traces_.size(), num_points_, label_of(trace.point), name_of(trace.status),
                     trace.reason.empty() ? "" : ", " + trace.reason);
    }

    ExitCode finish(bool strict) {
        const Verdict verdict = judge(summaries_, strict);
        const StudySummary study = summarise_study(traces_, summaries_, environment_.topology);
        results_.write_study_summary(study);
        results_.write_end(verdict);
        write_csv(traces_, summaries_, folder_ / "results.csv");
        write_html({folder_ / "results.jsonl"}, folder_ / "report.html");
        fmt::print("{}\n", points_table(summaries_));
        if (!study.empty()) fmt::print("{}\n", study_text(study));
        for (size_t i = 0; i < traces_.size(); ++i)
            if (traces_[i].status == PointStatus::ok)
                fmt::print("{}\n", ranks_table(traces_[i], summaries_[i], environment_.topology));
        fmt::print("results: {}\nreport:  {}\n", (folder_ / "results.jsonl").string(),
                   (folder_ / "report.html").string());
        for (const auto& trace : traces_)
            if (!trace.output_file.empty()) fmt::print("image:   {}\n", trace.output_file);
        fmt::print("\n{}{}\n", fom_lines(summaries_), verdict_line(verdict));
        return verdict.exit_code;
    }

  private:
    fs::path folder_;
    const Environment& environment_;
    size_t num_points_;
    JsonlWriter results_;
    std::vector<PointTrace> traces_;
    std::vector<Summary> summaries_;
};

fs::path output_folder(const RunArguments& arguments, const Config& config) {
    return arguments.out.empty() ? fs::path("results") / config.study.name : fs::path(arguments.out);
}

OutputNames image_names(const fs::path& folder, bool save) {
    return [folder, save](const Point& point) {
        if (!save) return fs::path{};
        const std::string& source = point.settings.image.path;
        const std::string extension = source.empty() ? ".png" : fs::path(source).extension().string();
        const bool lossy = extension == ".jpg" || extension == ".jpeg" || extension == ".JPG";
        return folder / (fmt::format("{:03}-", point.index) + label_of(point) + (lossy ? ".png" : extension));
    };
}

ExitCode run_study(const RunArguments& arguments, const Arguments& raw, RankSession& session) {
    const Communicator& world = session.world();
    Config config;
    together(world, [&] { config = load_config(arguments.study, arguments.overrides); });
    session.watch(config.study.watchdog_s);
    const Topology topology = gather_topology(world, {common_device(config), config.study.device_sharing});
    const fs::path folder = output_folder(arguments, config);
    Plan plan;
    Environment environment;
    std::unique_ptr<StudyRecord> record;
    together(world, [&] {
        plan = make_plan(config, topology, source_facts);
        if (!world.is_root()) return;
        check_weights(plan);
        fs::create_directories(folder);
        environment = describe_environment(topology, raw.argc, raw.argv);
        record = std::make_unique<StudyRecord>(folder, plan, environment);
        fmt::print("{}\n", plan_table(plan));
        std::fflush(stdout);
    });
    Runner runner(world, topology, config.study);
    ExitCode code = ExitCode::ok;
    run_plan(plan, runner, image_names(folder, config.study.save_images), [&](const PointTrace& trace) {
        together(world, [&] {
            if (record) record->add(trace);
        });
    });
    together(world, [&] {
        if (record) code = record->finish(arguments.strict);
    });
    return static_cast<ExitCode>(static_cast<int>(world.broadcast(static_cast<double>(code))));
}

ExitCode dry_run(const RunArguments& arguments) {
    const Config config = load_config(arguments.study, arguments.overrides);
    fmt::print("{}", plan_table(make_plan(config, make_local_topology(1), source_facts)));
    return ExitCode::ok;
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<RunArguments>();
    CLI::App* command = app.add_subcommand("run", "run a study and report its figures");
    command->add_option("study", arguments->study, "study file (YAML)")->required();
    command->add_option("--set", arguments->overrides, "key=value: overrides a setting everywhere")
        ->allow_extra_args(false);
    command->add_option("--out", arguments->out, "folder for results and images (default: results/<name>)");
    command->add_flag("--dry-run", arguments->dry_run, "print the points and stop");
    command->add_flag("--strict", arguments->strict, "exit with 4 when a figure is INVALID");
    command->add_flag_callback(
        "--explain", [] { throw CLI::CallForVersion(glossary(), 0); },  // how CLI11 prints a text and ends
        "print what each figure means, and stop");
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            if (arguments->dry_run) return dry_run(*arguments);
            spdlog::set_default_logger(spdlog::stderr_logger_st("patchbench"));
            spdlog::set_pattern("%H:%M:%S %v");
            return with_ranks(raw, [&](RankSession& session) { return run_study(*arguments, raw, session); });
        };
    });
}

}  // namespace pb
