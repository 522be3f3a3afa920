// patchbench tune IMAGE: finds the fastest way to denoise an image on this machine, and writes it as a file of settings
// that `run` and `denoise --config` take.
#include "app/commands.hpp"
#include "app/custom_networks.hpp"
#include "app/options.hpp"
#include "app/session.hpp"
#include "app/terminal.hpp"
#include "app/tune/tune.hpp"
#include "base/atomic_file.hpp"
#include "base/network_format.hpp"
#include "base/text.hpp"
#include "base/user_cache.hpp"
#include "base/user_paths.hpp"
#include "config/settings_access.hpp"
#include "engine/network_file.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/tables/tables.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/from_root.hpp"

#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

/// What the file holds, which `run` takes as a study of one point and `denoise` with --config.
constexpr const char* kKeys[] = {"network",      "weights",          "trained_sigma", "engine",    "device",
                                 "dtype",        "threads",          "patch",         "halo",      "batch",
                                 "ranks",        "memory_limit_mib", "image.path",    "image.raw", "image.range",
                                 "image.nodata", "image.noise_sigma"};

/// A double-quoted scalar of YAML, in which any byte but a control character may stand as it is.
std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            all += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20)
            all += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            all += c;
    }
    return all + '"';
}

/// YAML with the settings that decide what a point does, after `remarks`, one comment line each. Texts are quoted, so
/// that any path can be read back.
std::string tuned_config(const config::PointSettings& settings, const std::vector<std::string>& remarks) {
    std::string text;
    for (const std::string& remark : remarks) text += "# " + without_controls(remark, ' ') + "\n";
    for (const char* key : kKeys) {
        const config::SettingHelp help = config::help_by_key(settings, key);
        const std::string value = config::text_by_key(settings, key);
        if (value.empty()) continue;
        const bool is_text = help.is_text || (settings.network.is_custom() && help.key == "network");
        text += std::string(key) + ": " + (is_text ? quoted(value) : value) + "\n";
    }
    return text;
}

struct TuneArguments {
    std::string image;
    std::string output = "tuned.yaml";
    config::PointSettings settings;
    bool names_network = false;
    measure::TuningLimits limits;
    double max_time_s = 120;
    bool no_cache = false;
    bool verbose = false;
};

/// A path that holds wherever the output lies, without `..`. A link keeps its name. Throws UsageError for one that no
/// study can hold.
std::string lasting_path(const fs::path& file) {
    const fs::path whole = fs::absolute(file);
    std::string path = (fs::weakly_canonical(whole.parent_path()) / whole.filename()).string();
    if (has_controls(path))
        throw UsageError(without_controls(path) +
                         ": the path holds control characters, and a study cannot name it: rename it");
    return path;
}

/// What each candidate shares: the image with noise, and paths that hold wherever the output lies.
TuneTask task_of(const TuneArguments& arguments) {
    require_regular_file(arguments.image);
    require_not_input(arguments.output, arguments.image);
    check_can_create(arguments.output);
    TuneTask task{.settings = arguments.settings, .limits = arguments.limits, .max_time_s = arguments.max_time_s};
    task.settings.image.path = lasting_path(arguments.image);
    const auto take_file = [&](std::string& file) {
        for (const fs::path& each : engine::files_of_network(file)) require_not_input(arguments.output, each);
        file = lasting_path(file);
    };
    std::string& weights = task.settings.weights;
    if (config::names_weights_file(weights)) take_file(weights);
    if (std::string& network = task.settings.network.file; !network.empty()) take_file(network);
    task.limits.memory_limit_mib = task.settings.memory_limit_mib;
    if (!arguments.no_cache) task.cache = cache_folder();
    return task;
}

std::string foreign_text(const TuneResult& result) {
    return fmt::format(
        "not measured alone ({}): times are too long, and another candidate may be the fastest; tune "
        "again on a quiet machine",
        result.foreign);
}

std::vector<std::string> remarks_of(const TuneResult& result, const measure::TuningTrial& best) {
    const Extent crop = measure::tuning_crop(result.image, best.edge);
    const auto measured = std::ranges::count_if(result.trials, [](const auto& trial) { return trial.edge > 0; });
    std::vector<std::string> remarks{
        fmt::format("patchbench tune: fastest of the {} that were measured, of {} candidates, found in {:.0f} s",
                    measured, result.trials.size(), result.seconds),
        fmt::format("the image in {:.3g} s (by a crop of {} x {} pixels), {:.3f} dB of PSNR lost against fp32",
                    *best.job_s, crop.h, crop.w, std::max(0.0, best.psnr_loss_db.value_or(0))),
        "patchbench run FILE measures it; patchbench denoise IN OUT --config FILE uses it"};
    if (!result.foreign.empty()) remarks.push_back(foreign_text(result));
    return remarks;
}

[[noreturn]] void refuse_all(const TuneResult& result, const measure::TuningLimits& limits) {
    const std::string why = measure::why_nothing_fits(result.trials, limits);
    if (!why.empty()) throw UsageError(why + "; raise --memory-limit-mib");
    const auto has_known_loss = [](const measure::TuningTrial& trial) { return trial.psnr_loss_db.has_value(); };
    const auto was_measured = [](const measure::TuningTrial& trial) { return trial.edge > 0; };
    if (std::ranges::any_of(result.trials, was_measured) && std::ranges::none_of(result.trials, has_known_loss))
        throw UsageError(
            "no candidate has a PSNR: no sample of the image has data, or most are far outside of [0, 1]; give "
            "--range");
    throw Error(
        "no candidate qualifies: the table says why; allow more with --max-psnr-loss, --memory-limit-mib or "
        "--max-time");
}

/// Prints what was tried and writes the file. On the root.
ExitCode finish_tune(const TuneResult& result, const TuneTask& task, const TuneArguments& arguments) {
    const auto best = result.signal.empty() ? measure::find_fastest(result.trials) : std::nullopt;
    print_text(stdout, "{}\nsearched: {:.1f} s\n",
               report::tuning_table(result.trials, best, result.image, arguments.verbose, terminal_width(stdout)),
               result.seconds);
    if (!result.foreign.empty()) print_text(stdout, "{}\n", foreign_text(result));
    if (!result.signal.empty()) {
        print_error(result.signal + ": the search was interrupted; nothing is written");
        return ExitCode::partial;
    }
    if (!best) refuse_all(result, task.limits);
    const measure::TuningTrial& trial = result.trials[*best];
    const fs::path earlier = report::move_aside(fs::absolute(arguments.output), {}, {});
    if (!earlier.empty()) print_text(stdout, "kept:     the earlier one, in {}\n", earlier.string());
    write_whole(arguments.output, tuned_config(trial.candidate.settings, remarks_of(result, trial)));
    print_whole(stdout, "written:  {0}: patchbench denoise IN OUT --config {0}\n", arguments.output);
    return ExitCode::ok;
}

/// Refuses a network whose layers are not known: its candidates cannot be predicted. Collective.
void settle_network(config::PointSettings& settings, const comm::Communicator& world) {
    const config::NetworkSetting& network = settings.network;
    if (!network.is_custom() || !is_code(network.file)) settle_networks({&settings}, false, world);
    if (network.has_layers()) return;
    const std::string obstacle = network.obstacle.empty() ? "" : fmt::format(" ({})", network.obstacle);
    throw run::AgreedError(
        fmt::format("tune: the layers of '{}' are not known{}, which tune needs; measure points with "
                    "patchbench run",
                    network.file, obstacle),
        ExitCode::usage);
}

ExitCode run_tune(TuneArguments arguments, RankSession& session) {
    const comm::Communicator& world = session.world;
    run::require_same_software(world, run::Software::with_torch);
    TuneTask task;
    run::together(world, [&] { task = task_of(arguments); });
    run::require_same_settings(
        world, {}, {task.settings},
        {"--output " + arguments.output, fmt::format("--network given = {}", arguments.names_network),
         fmt::format("--max-psnr-loss {}", task.limits.max_psnr_loss_db),
         fmt::format("--max-time {}", task.max_time_s)});
    if (!arguments.names_network) take_network_of_weights(world, task.settings);
    settle_network(task.settings, world);
    const plan::Topology topology = run::gather_topology(world, task.settings.device, config::SharingRule::error);
    const TuneResult result = search(task, world, topology);
    ExitCode code = ExitCode::ok;
    run::together(world, [&] {
        if (world.is_root()) code = finish_tune(result, task, arguments);
    });
    return run::from_root(world, code);
}

void add_tune_options(CLI::App& command, TuneArguments& a) {
    command.add_option("image", a.image, "image file; a crop of it is denoised again and again")->required();
    command.add_option("--output", a.output, "file of settings to write (default: tuned.yaml)");
    for (const auto& [option, key] :
         {std::pair{"--network", "network"}, std::pair{"--weights", "weights"},
          std::pair{"--trained-sigma", "trained_sigma"}, std::pair{"--device", "device"},
          std::pair{"--threads", "threads"}, std::pair{"--range", "image.range"}, std::pair{"--nodata", "image.nodata"},
          std::pair{"--raw", "image.raw"}, std::pair{"--memory-limit-mib", "memory_limit_mib"}})
        add_setting(command, option, key, a.settings);
    add_setting(command, "--sigma", "image.noise_sigma", a.settings,
                "; the image is taken for clean: PSNR is that against it", {network::kSmallestSigma, 1});
    add_number<double>(command, "--max-psnr-loss", a.limits.max_psnr_loss_db, {0, 100}, "dB",
                       "loss of PSNR against the whole crop in fp32 that is allowed (default: 0.05)");
    add_number<double>(command, "--max-time", a.max_time_s, {1, config::kMaxSeconds}, "s",
                       "time after which the search ends with what it has found (default: 120)");
    command.add_flag("--verbose", a.verbose, "print the candidates that were not measured, too, with the reasons");
    command.add_flag("--no-cache", a.no_cache,
                     "neither use nor keep what earlier runs found by trying ($PATCHBENCH_CACHE, ~/.cache/patchbench)");
}

}  // namespace

void add_tune_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<TuneArguments>();
    arguments->settings.network = network::kind_of<network::DrunetShape>();  // as denoise
    CLI::App* command =
        app.add_subcommand("tune", "find the fastest settings for an image here, and write them for run and denoise");
    add_tune_options(*command, *arguments);
    command->callback([&chosen, arguments, command] {
        arguments->names_network = command->count("--network") > 0;
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_tune(*arguments, session); });
        };
    });
}

}  // namespace pb::app
