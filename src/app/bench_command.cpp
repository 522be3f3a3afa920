// patchbench bench: a study without a file. Every setting is an option, and a list of values is an axis.
#include "app/commands.hpp"
#include "app/custom_networks.hpp"
#include "app/session.hpp"
#include "app/study/run_study.hpp"
#include "app/terminal.hpp"
#include "comm/launcher.hpp"
#include "config/study_text.hpp"
#include "run/pixels/image_source.hpp"
#include "run/weights_source.hpp"

#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

/// Where bench differs from a study: the engine is the one of `denoise`, and one core of a CPU manages the scene, the
/// halo and the repetitions.
constexpr std::array<std::pair<const char*, const char*>, 8> kDefaults{{{"engine", "auto"},
                                                                        {"halo", "32"},
                                                                        {"stop.max_time_s", "5"},
                                                                        {"forward_calls", "1"},
                                                                        {"image.height", "1024"},
                                                                        {"image.width", "1024"},
                                                                        {"name", "bench"},
                                                                        {"save_images", "false"}}};
/// Weights that are not given: those of `denoise` where it has some, else values that are not trained.
constexpr const char* kUntrained = "seed:1";

struct BenchArguments {
    config::Assignments given;  // in the order of the tables of settings
    StudyRun study;
};

const char* default_of(std::string_view key) {
    return std::ranges::find_if(kDefaults, [&](const auto& each) { return each.first == key; })->second;
}

std::vector<config::SettingHelp> bench_settings() {
    config::PointSettings point;
    config::StudySettings study;
    for (const auto& [key, text] : kDefaults) {
        if (config::is_study_key(key))
            config::set_by_key(study, key, text);
        else
            config::set_by_key(point, key, text);
    }
    auto settings = config::all_settings(point, study);
    std::erase_if(settings, [](const auto& setting) { return setting.key == "preset"; });  // there are none to choose
    for (auto& setting : settings)
        if (setting.key == "weights") setting.value = fmt::format("default where there are some, else {}", kUntrained);
    return settings;
}

/// "--image-noise-sigma" for image.noise_sigma; image.path is "--image", too.
std::string option_of(const std::string& key) {
    std::string name = "--" + key;
    std::ranges::replace_if(
        name, [](char c) { return c == '.' || c == '_'; }, '-');
    return key == "image.path" ? "--image," + name : name;
}

/// The values of one option. Numbers and choices are split at commas; a text or the file of an engine may hold commas.
std::vector<config::PlacedText> values_of(const std::vector<std::string>& texts, bool is_text,
                                          const std::string& option) {
    std::vector<config::PlacedText> values;
    for (const std::string& text : texts) {
        const config::Place place{std::make_shared<const std::string>(fmt::format("{} {}", option, text)), 0, 0};
        for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
            end = is_text || text.starts_with("python:") ? std::string::npos : text.find(',', begin);
            values.push_back({text.substr(begin, end - begin), place});
        }
    }
    return values;
}

void add_setting_option(CLI::App& command, const config::SettingHelp& setting, config::Assignments& given) {
    const std::string option = option_of(setting.key);
    const auto set = [&given, setting,
                      name = option.substr(0, option.find(','))](const std::vector<std::string>& texts) {
        const auto values = values_of(texts, setting.is_text, name);
        given.push_back({setting.key, values.front().place, values.size() > 1, values});
    };
    const std::string meaning =
        fmt::format("{}{}{}{}", setting.meaning, setting.range.empty() ? "" : "; ", setting.range,
                    setting.value.empty() ? "" : fmt::format(" (default: {})", setting.value));
    command.add_option_function<std::vector<std::string>>(option, set, meaning)
        ->type_name(setting.shape)
        ->allow_extra_args(false)
        ->group(std::string(config::title_of(setting.group)));
}

bool is_given(const config::Assignments& given, std::string_view key) {
    return std::ranges::any_of(given, [&](const auto& each) { return each.key == key; });
}

/// The file of the weights that a point takes by itself; nothing for a network that comes in a file, and where the
/// models folder has none.
std::optional<fs::path> weights_of(const config::PointSettings& point) {
    if (point.network.is_custom()) return std::nullopt;
    const int64_t channels = point.image.path.empty() ? point.image.channels : run::source_facts(point.image).channels;
    try {
        return run::find_default_weights(point.network.kind, channels);
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

/// Takes the exact halo of a network where the default one is larger: what is beyond it is computed for nothing.
void take_smaller_halo(config::PointSettings& point) {
    if (!point.network.is_custom() && network::network_facts(point.network.kind).exact_halo < point.halo.pixels)
        point.halo = {};
}

/// Takes the networks that the weights files hold. Throws UsageError for a file that cannot be read.
void take_networks_of_weights(std::vector<config::PointSettings>& points) {
    std::map<std::string, std::optional<network::NetworkKind>> found;  // by the setting: a file may be large
    for (config::PointSettings& point : points) {
        if (!found.contains(point.weights)) found[point.weights] = run::network_in(point.weights);
        if (const auto& network = found.at(point.weights)) point.network = *network;
    }
}

/// The study of the options. Throws UsageError that names the option.
config::Config bench_config(const config::Assignments& given) {
    const config::Place place{std::make_shared<const std::string>("bench"), 0, 0};
    config::StudyFile file;
    for (const auto& [key, text] : kDefaults) {
        const bool is_size = std::string_view(key) == "image.height" || std::string_view(key) == "image.width";
        if (is_given(given, key) || (is_size && is_given(given, "image.path"))) continue;  // a file has its own size
        file.study.top.settings.push_back({key, place, false, {{text, place}}});
    }
    file.study.top.settings.insert(file.study.top.settings.end(), given.begin(), given.end());
    config::Config config = config::expand_study(file, {});
    read_measured_calls(config);
    if (!is_given(given, "network")) take_networks_of_weights(config.points);
    if (!is_given(given, "halo")) std::ranges::for_each(config.points, take_smaller_halo);
    if (!is_given(given, "weights"))
        for (auto& point : config.points)
            if (!point.network.is_custom() && !weights_of(point)) point.weights = kUntrained;
    return config;
}

/// What a new user did not choose but may want to: "chosen: engine auto, halo 16, ..". Empty when all was given.
std::string chosen_text(const config::Assignments& given, const config::Config& config) {
    std::vector<std::string> chosen;
    if (!is_given(given, "engine")) chosen.push_back(fmt::format("engine {}", default_of("engine")));
    if (!is_given(given, "halo"))
        chosen.push_back(fmt::format("halo {} (exact where that is less)", default_of("halo")));
    if (!is_given(given, "image.path") && !is_given(given, "image.height") && !is_given(given, "image.width"))
        chosen.push_back(fmt::format("a scene of {} x {}", default_of("image.height"), default_of("image.width")));
    std::set<std::string> networks;
    if (!is_given(given, "network") && config::names_weights_file(config.points.front().weights))
        chosen.emplace_back("the network of the weights");
    for (const auto& point : config.points) {
        const bool has_values =
            !is_given(given, "weights") && !point.network.is_custom() && point.engine != EngineKind::timed;
        if (!has_values || !networks.insert(point.network.name()).second) continue;
        const auto file = weights_of(point);
        chosen.push_back(file ? fmt::format("{} of {} (--weights {}: the published size, untrained)",
                                            point.network.name(), file->filename().string(), kUntrained)
                              : fmt::format("{} untrained ({})", point.network.name(), kUntrained));
    }
    return chosen.empty() ? "" : fmt::format("chosen: {}\n\n", fmt::join(chosen, ", "));
}

/// Makes a new folder below that for temporary files.
fs::path make_temporary_folder() {
    std::string name = (fs::temp_directory_path() / "patchbench-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw UsageError("cannot make a temporary folder " + name + ": " + std::strerror(errno) +
                         "; name a folder with --out");
    return name;
}

ExitCode run_bench(const BenchArguments& arguments, const Arguments& raw) {
    const config::Config config = bench_config(arguments.given);  // wrong options are refused before MPI starts
    if (comm::is_first_process())
        print_folded(text_stream(arguments.study.record.json), chosen_text(arguments.given, config));
    StudyRun study = arguments.study;
    study.load = [&] { return bench_config(arguments.given); };
    study.default_folder = [](const config::Config& /*config*/) { return make_temporary_folder(); };
    return run_study(study, raw);
}

}  // namespace

void add_bench_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* command = app.add_subcommand("bench", "run a study that is given by options, and report its figures");
    command
        ->add_option("--out", arguments->study.out,
                     "folder for results and images (default: a new one for temporary files)")
        ->check(not_empty());
    command->add_flag("--json", arguments->study.record.json,
                      "print the lines of results.jsonl on standard output, and the text on standard error");
    add_measuring(*command, arguments->study);
    command->add_flag("--trust-model", arguments->study.trusts_model, kTrustHelp);
    for (const auto& setting : bench_settings()) add_setting_option(*command, setting, arguments->given);
    command->footer(
        "Several values of a setting are an axis, and axes multiply: --patch 128,256 --batch 1,4 measures four "
        "points.\n"
        "Texts may hold commas: repeat the option for several of them.");
    set_action(*command, chosen, [arguments](const Arguments& raw) { return run_bench(*arguments, raw); });
}

}  // namespace pb::app
