#include "app/study/run_study.hpp"

#include "app/custom_networks.hpp"
#include "app/session.hpp"
#include "app/study/output_names.hpp"
#include "app/terminal.hpp"
#include "base/text.hpp"
#include "comm/interruption.hpp"
#include "comm/launcher.hpp"
#include "config/load_yaml.hpp"
#include "engine/engines.hpp"
#include "engine/network_file.hpp"
#include "image/image_file.hpp"
#include "report/results_figures.hpp"
#include "report/tables/tables.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/from_root.hpp"
#include "run/pixels/image_source.hpp"
#include "run/runner.hpp"
#include "run/weights_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace pb::app {

config::Config load_study(const StudyArguments& arguments) {
    if (image::is_image_name(arguments.file) && std::filesystem::exists(arguments.file))
        throw UsageError(
            fmt::format("{0}: is an image; a study (YAML) is expected. `patchbench denoise {0} OUT --dry-run` "
                        "says what the image needs, `patchbench tune {0}` finds settings for it",
                        without_controls(arguments.file)));
    config::Config config = config::load_config(arguments.file, arguments.overrides);
    read_measured_calls(config);
    if (comm::is_first_process())
        for (const std::string& place : config.unmatched_exclusions)
            print_text(stderr, "patchbench: {}: exclude: matches no point\n", place);
    return config;
}

void read_measured_calls(config::Config& config) {
    std::map<std::string, report::ResultsFile> files;
    for (config::PointSettings& point : config.points) {
        const std::string& results = point.timed.results;
        if (point.engine != EngineKind::timed || results.empty()) continue;
        if (!point.timed.table.empty())
            throw UsageError("timed.table and timed.results both give T(b): keep one of them");
        const auto known = files.find(results);
        const report::ResultsFile& former =
            known != files.end() ? known->second : files[results] = report::load_results(results);
        point.timed.table = report::measured_call_table(former, point);
    }
}

std::set<std::filesystem::path> inputs_of(const config::Config& config) {
    std::set<std::filesystem::path> inputs, networks;
    for (const config::PointSettings& settings : config.points) {
        inputs.insert({settings.image.path, settings.image.clean, settings.engine.file, settings.timed.results});
        networks.insert({settings.weights, settings.network.file});
    }
    for (const std::filesystem::path& file : networks) {
        inputs.insert(file);
        try {
            std::ranges::copy(engine::files_of_network(file), std::inserter(inputs, inputs.end()));
        } catch (const UsageError&) {  // the point that reads it says so
        }
    }
    inputs.erase("");
    return inputs;
}

namespace {

bool reads_weights(const plan::Point& point) {
    return point.refusal.empty() && !plan::is_simulated(point) && !config::is_seed(point.settings.weights);
}

/// Why the weights of a point cannot be read; empty when they can.
std::string weights_obstacle(const plan::Point& point, run::WeightsCache& weights) {
    try {
        (void)weights.find(point.settings, point.source.channels);
        return "";
    } catch (const UsageError& error) {
        return error.what();
    }
}

void note_missing_weights(plan::Plan& plan, run::WeightsCache& weights) {
    std::map<std::string, std::string> obstacles;
    for (plan::Point& point : plan.points) {
        if (!reads_weights(point)) continue;
        const auto [known, is_new] = obstacles.try_emplace(run::weights_key(point.settings, point.source.channels));
        if (is_new) known->second = weights_obstacle(point, weights);
        if (!known->second.empty())
            point.notes.push_back("planned as the published network; `run` would end: " + known->second);
    }
}

/// What the prediction of a point's time leaves out on several nodes.
void note_output_to_root(plan::Plan& plan, const plan::Topology& topology, const PlannedRanks& ranks) {
    for (plan::Point& point : plan.points) {
        if (!point.refusal.empty() || !point.halo) continue;
        const double bytes = plan::bytes_to_root(point, topology);
        if (bytes == 0) continue;
        std::string note =
            fmt::format("other nodes send {:.4g} MiB of the output to rank 0 in each pass", bytes / 0x1p20);
        if (ranks.bandwidth_gb_per_s)
            note += fmt::format(": {:.3g} s at {:.4g} GB/s, beside the predicted time",
                                bytes / (*ranks.bandwidth_gb_per_s * 1e9), *ranks.bandwidth_gb_per_s);
        point.notes.push_back(note);
    }
}

}  // namespace

plan::Plan plan_locally(config::Config config, const PlannedRanks& ranks, bool trusts_model) {
    settle_networks(points_of(config), trusts_model);
    run::WeightsCache weights;
    plan::Topology topology = plan::make_local_topology(ranks.count, ranks.per_node);
    for (plan::RankPlace& place : topology.ranks) place.multiplies_bf16 = engine::native_multiplies_bf16();
    const bool wants_gpu = std::ranges::any_of(
        config.points, [](const auto& point) { return point.device == config::DeviceChoice::cuda; });
    if (ranks.gpu_gib || wants_gpu) plan::give_gpus(topology, std::llround(ranks.gpu_gib.value_or(0) * 0x1p30));
    plan::Plan plan = plan::make_plan(config, topology, run::source_facts, weights.lookup());
    note_missing_weights(plan, weights);
    note_output_to_root(plan, topology, ranks);
    return plan;
}

namespace {

namespace fs = std::filesystem;

/// `run` prints the table of a plan of more points only with --verbose.
constexpr size_t kMostPlanned = 12;

/// Returns the device setting that all points share. If they differ, returns automatic.
config::DeviceChoice common_device(const config::Config& config) {
    const config::DeviceChoice first = config.points.front().device;
    const bool all_equal =
        std::ranges::all_of(config.points, [&](const config::PointSettings& point) { return point.device == first; });
    return all_equal ? first : config::DeviceChoice::automatic;
}

/// Reads the weights of every point before the first one runs and earlier results are moved, so that a missing file
/// does not end a long run. On every rank, also on those that no point uses.
void check_weights(const plan::Plan& plan, run::Runner& runner) {
    std::set<std::string> seen;
    for (const plan::Point& point : plan.points) {
        if (reads_weights(point) && seen.insert(run::weights_key(point.settings, point.source.channels)).second)
            runner.read_weights(point);
    }
}

void say_unequal_variables(const record::Environment& environment) {
    for (const auto& [name, value] : environment.variables)
        if (run::is_of_other_ranks(name))
            print_text(stderr, "patchbench: {} is {}, unlike rank 0's: results hold both\n", name, value);
}

/// Prints the plan and starts the record of a study in the folder of `output`, which learns from it which files of
/// finished points are kept. Throws UsageError where an output would replace an input. On the root only.
std::unique_ptr<StudyRecord> start_record(RecordOptions options, const plan::Plan& plan,
                                          const record::Environment& environment, StudyOutput& output) {
    const std::set<fs::path> inputs = options.inputs;
    options.folder = output.folder;
    require_no_input_is_replaced(plan, output_names(output), inputs);
    say_unequal_variables(environment);
    std::FILE* out = text_stream(options.json);
    const size_t most = options.verbose ? plan.points.size() : kMostPlanned;
    auto record = std::make_unique<StudyRecord>(std::move(options), plan, environment);
    print_text(out, "{}\n", report::plan_table(plan, std::nullopt, {terminal_width(out), most}));
    std::fflush(out);
    output.kept_files = record->kept_files();  // gives some points other names
    require_no_input_is_replaced(rest_of(plan, record->to_do()), output_names(output), inputs);
    return record;
}

/// Plans on each rank, from the images that it finds. Collective.
plan::Plan plan_together(const config::Config& config, const comm::Communicator& world, const plan::Topology& topology,
                         run::Runner& runner) {
    plan::Plan plan;
    std::string images;
    std::vector<std::filesystem::path> files;
    const auto facts_of = [&](const config::ImageSettings& image) {
        const plan::SourceFacts facts = run::source_facts(image);
        add_item(images, run::describe_source(image.path, facts), "; ");
        for (const std::string& file : {image.path, image.clean})
            if (!file.empty() && std::ranges::count(files, std::filesystem::path(file)) == 0) files.emplace_back(file);
        return facts;
    };
    run::together(world, [&] { plan = plan::make_plan(config, topology, facts_of, runner.network_lookup()); });
    run::require_same_files(world, images, files);
    return plan;
}

/// What settings do not hold. Ranks that were told otherwise than the root would be passed over without a word.
std::vector<std::string> study_options(const StudyRun& study) {
    const RecordOptions& record = study.record;
    return {"--out " + (study.out.empty() ? "by default" : study.out),
            fmt::format("--max-time = {}", study.max_time_s),
            fmt::format("--resume = {}", record.resume),
            fmt::format("--force = {}", record.force),
            fmt::format("--strict = {}", record.strict),
            fmt::format("--csv-style = {}", name_of(record.csv_style)),
            fmt::format("--verbose = {}", record.verbose),
            fmt::format("--json = {}", record.json),
            fmt::format("--trust-model = {}", study.trusts_model)};
}

ExitCode run_on(const StudyRun& study, const Arguments& raw, RankSession& session) {
    const comm::Communicator& world = session.world;
    run::require_same_software(world, run::Software::with_torch);
    if (study.max_time_s > 0) comm::interrupt_after(study.max_time_s);
    config::Config config;
    run::together(world, [&] { config = study.load(); });
    run::require_same_settings(world, config.study, config.points, study_options(study));
    settle_networks(points_of(config), study.trusts_model, world);
    session.watch(config.study.watchdog_s);
    const plan::Topology topology = run::gather_topology(world, common_device(config), config.study.device_sharing);
    if (world.is_root()) print_nodes(topology);
    auto variables = run::gather_variables(world);
    run::Runner runner(world, topology, config.study);
    plan::Plan plan = plan_together(config, world, topology, runner);
    StudyOutput output{.save_images = config.study.save_images};
    std::unique_ptr<StudyRecord> record;
    run::together(world, [&] { check_weights(plan, runner); });
    run::together(world, [&] {
        if (!world.is_root()) return;
        output.folder = study.out.empty() ? study.default_folder(config) : std::filesystem::path(study.out);
        RecordOptions options = study.record;
        options.inputs.merge(inputs_of(config));
        record = start_record(std::move(options), plan,
                              run::describe_environment(topology, std::move(variables), raw.argc, raw.argv), output);
        runner.report_to(&record->show_progress(plan));
    });
    output.folder = run::from_root(world, output.folder);
    output.kept_files = run::from_root(world, output.kept_files);
    plan = rest_of(plan, run::from_root(world, record ? record->to_do() : std::vector<size_t>{}));
    run::run_plan(plan, runner, output_names(output), [&](const record::PointTrace& trace) {
        run::together(world, [&] {
            if (record) record->add(trace);
        });
    });
    ExitCode code = ExitCode::ok;
    run::together(world, [&] {
        if (record) code = record->finish();
    });
    return run::from_root(world, code);
}

}  // namespace

ExitCode run_study(const StudyRun& study, const Arguments& raw) {
    return with_ranks(raw, [&](RankSession& session) { return run_on(study, raw, session); });
}

void add_measuring(CLI::App& command, StudyRun& study) {
    RecordOptions& record = study.record;
    command.add_flag(
        "--strict", record.strict,
        "exit with 4 when a point is INVALID, has fewer than 6 repetitions, or was measured in another environment");
    add_number<double>(
        command, "--max-time", study.max_time_s, {1e-3, config::kMaxSeconds * 366}, "s",
        "time after which no point is started and the current one is dropped; exit code 5 (default: none)");
    add_choice(command, "--csv-style", record.csv_style, "columns of results.csv (default: tidy)");
    command.add_flag("--verbose", record.verbose,
                     "print the whole plan, the ranks of every point and all FOM lines, however many points there are");
}

}  // namespace pb::app
