#include "app/denoise/arguments.hpp"

#include "app/custom_networks.hpp"
#include "app/options.hpp"
#include "config/load_yaml.hpp"
#include "config/text.hpp"

#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <charconv>

namespace pb::app {

namespace {

/// A setting of a point that `denoise` has an option for. The table has the order of the help.
struct SettingOption {
    const char* option;
    const char* key;
    const char* more = "";  // help text that applies to `denoise` only
    config::Limits limits = {};
};

constexpr SettingOption kSettingOptions[] = {
    {"--network", "network", "; not given: that of the weights file, if one is named"},
    {"--weights", "weights", "; seed:<n> only with --allow-untrained"},
    {"--device", "device"},
    {"--engine", "engine", "; timed is for studies"},
    {"--trained-sigma", "trained_sigma", "", {network::kSmallestSigma, 1}},
    {"--range", "image.range", "; --range=-300:4700 where LO is negative. --sigma is then in the samples' units"},
    {"--nodata", "image.nodata", "; --nodata=-9999 where it is negative"},
    {"--raw", "image.raw"},
    {"--output", "output", "; checksum is for studies"},
    {"--patch", "patch"},
    {"--halo", "halo"},
    {"--batch", "batch"},
    {"--dtype", "dtype"},
    {"--threads", "threads"},
    {"--memory-limit-mib", "memory_limit_mib"},
    {"--add-noise", "image.noise_sigma", "; with it PSNR is reported", {0, 1}},
};

std::optional<image::Compression> parse_compression(const std::string& text) {
    if (text == "auto") return std::nullopt;
    try {
        return parse_enum<image::Compression>(text);
    } catch (const UsageError& error) {
        throw UsageError(std::string(error.what()) + " | auto");
    }
}

VerifyChoice parse_verify(const std::string& text) {
    if (text == "auto") return {};
    if (text == "all")
        return {
            .mode = config::VerifyMode::full, .windows = static_cast<int64_t>(config::kMaxCount), .is_bounded = false};
    int64_t windows = 0;
    if (text != "none") config::parse_setting(text, windows);
    if (windows < 0 || windows > config::kMaxCount)
        throw UsageError(fmt::format("'{}': must be a number from 0 to {}", text, config::kMaxCount));
    if (windows == 0) return {.mode = config::VerifyMode::off, .is_bounded = false};
    return {.windows = windows, .is_bounded = false};
}

void add_file_options(CLI::App& command, DenoiseArguments& a) {
    command
        .add_option(
            "paths", a.paths,
            "IN... OUT: files, folders or patterns; then a file, or a folder: one that is there, or a name that "
            "ends in / and is made")
        ->required();
    command
        .add_option("--clean", a.clean,
                    "the image without noise, or a folder with a file of the same name for each image: with it PSNR "
                    "is reported")
        ->type_name("FILE | FOLDER")
        ->check(not_empty());
    command.add_flag("--recursive", a.recursive,
                     "also the folders in the input folders, except hidden ones and links; OUT gets the same folders");
    add_choice(command, "--format", a.format,
               "type of the outputs in a folder; same: that of each input (default: same)");
    command.add_flag("--no-clobber", a.no_clobber, "leave outputs that are there as they are");
    command.add_flag("--dry-run", a.dry_run,
                     "reads the images and says for each one what would be done, with predicted memory and arithmetic; "
                     "denoises nothing and writes no output");
    command.add_flag("--json", a.json,
                     "print an object for each image and one for all on standard output, and the text on standard "
                     "error (docs/denoise.md)");
}

/// Whether denoise --config takes this key. It takes what samples mean, and not which image it is: another one is
/// denoised.
bool is_taken(std::string_view key) {
    return !key.starts_with("image.") || key == "image.range" || key == "image.nodata";
}

/// `sigma` of a study, a share of the range, in the words of --sigma.
std::string share_of_range(const std::string& sigma) {
    config::NoiseLevelSetting level;
    config::parse_setting(sigma, level);
    return level.is_automatic() ? "auto" : config::format_setting(level.level) + "/1";
}

}  // namespace

config::PointSettings denoise_defaults() {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DrunetShape>();
    settings.engine = config::EngineSetting::automatic();
    settings.halo = {config::HaloSetting::Kind::automatic, 0};
    settings.batch = {0, false};
    settings.image.noise_sigma = 0;
    settings.protocol = {.warmup_reps = 0,
                         .min_reps = 1,
                         .max_reps = 1,
                         .forward_calls = 0,
                         .verify_time_share = 0,
                         .verify_whole_max_mpx = 0,
                         .timeline = 0};
    return settings;
}

std::optional<NoiseLevel> sigma_from(const DenoiseArguments& arguments) {
    if (arguments.sigma == "auto") return std::nullopt;
    return parse_sigma(arguments.sigma, !arguments.settings.image.range.empty());
}

std::vector<int64_t> parse_pages(const std::string& text) {
    constexpr int64_t kMostPages = int64_t{1} << 20U;  // of libtiff
    std::vector<int64_t> pages;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (text != "all") {
        int64_t first = -1, last = -1;
        at = std::from_chars(at, end, first).ptr;
        last = first;
        if (at != end && *at == '-') {
            last = -1;
            at = std::from_chars(at + 1, end, last).ptr;
        }
        const bool ascends = pages.empty() || first > pages.back();
        if (first < 0 || last < first || last >= kMostPages || !ascends || (at != end && *at != ','))
            throw UsageError("--pages " + text + ": must be page numbers from 0 in ascending order, as 0-9,20, or all");
        for (int64_t page = first; page <= last; ++page) pages.push_back(page);
        if (at == end) break;
        ++at;
    }
    return pages;
}

DenoisePaths paths_from(const DenoiseArguments& arguments) {
    return {.inputs = {arguments.paths.begin(), arguments.paths.end() - 1},
            .output = arguments.paths.back(),
            .weights =
                arguments.settings.network.is_custom() ? arguments.settings.network.file : arguments.settings.weights,
            .clean = arguments.clean,
            .recursive = arguments.recursive,
            .format = arguments.format};
}

config::PointSettings settings_from(const DenoiseArguments& arguments) {
    config::PointSettings settings = arguments.settings;
    if (settings.output == config::OutputKind::checksum)
        throw UsageError("--output checksum: is for studies; denoise writes a file");
    if (settings.engine == EngineKind::timed)
        throw UsageError("--engine timed: simulates devices in studies and runs no network; denoise needs one");
    if (arguments.bands != "auto" && arguments.bands != "1" && arguments.bands != "3")
        throw UsageError("--bands " + arguments.bands + ": must be 1, 3 or auto");
    if (settings.network.is_custom() && settings.weights != config::kDefaultWeights)
        throw UsageError(fmt::format("--weights {}: {} holds its weights; leave out --weights", settings.weights,
                                     settings.network.file));
    settings.protocol.verify = arguments.verify.mode;
    settings.protocol.verify_probes = arguments.verify.windows;
    if (config::is_seed(settings.weights) && !arguments.allow_untrained)
        throw UsageError(
            "'" + settings.weights +
            "' are untrained weights: the result would be no denoised image; name trained ones with --weights, "
            "or insist with --allow-untrained");
    return settings;
}

void take_config(const CLI::App& command, DenoiseArguments& arguments) {
    for (const config::Assignment& stated : config::load_stated(arguments.config)) {
        if (stated.key == "sigma" && command.count("--sigma") == 0)
            arguments.sigma = share_of_range(stated.values.front().text);
        for (const SettingOption& each : kSettingOptions) {
            if (each.key != stated.key || !is_taken(stated.key) || command.count(each.option) > 0) continue;
            config::set_at(arguments.settings, stated.key, stated.values.front());
            if (stated.key == "network") arguments.names_network = true;
            if (stated.key == "patch") arguments.names_patch = true;
        }
    }
}

void add_denoise_options(CLI::App& command, DenoiseArguments& a) {
    add_file_options(command, a);
    command
        .add_option(
            "--sigma", a.sigma,
            "noise level in [0,1], as 0.1 or 25/255 (a share of the range); where a range is given, in the "
            "samples' units; auto: estimated, by the median absolute deviation of wavelet coefficients (default: auto)")
        ->type_name("X | X/Y | auto");
    command.add_option("--config", a.config,
                       "file of settings, as `tune` writes; what is given as an option wins; of its image only range "
                       "and nodata are taken");
    for (const SettingOption& each : kSettingOptions)
        add_setting(command, each.option, each.key, a.settings, each.more, each.limits);
    command
        .add_option("--bands", a.bands,
                    "take all channels, alpha too, for bands and denoise each by itself or groups of 3 (the last ones "
                    "may overlap); auto: what the weights are for, where there are more than 4 (default: auto)")
        ->type_name("1 | 3 | auto");
    command
        .add_option(
            "--pages", a.pages,
            "pages of a TIFF stack (z, t, channels) to denoise, from 0; with some pages, the description of the "
            "stack is not kept (default: all)")
        ->type_name("N,N-N,.. | all");
    add_read(command, "--compress", a.compression,
             "tiles of a TIFF, in a second pass by one rank; auto: as the input, where the output is held in memory "
             "(default: auto)",
             parse_compression)
        ->type_name(names_of<image::Compression>() + " | auto");
    add_read(command, "--verify", a.verify,
             "windows of each image that are computed again and compared; auto: one of each rank's first image, and of "
             "others as long as this takes at most 3 % of the network's work; 0: no checks at all, as none (default: "
             "auto)",
             parse_verify)
        ->type_name("N | auto | all | none");
    command.add_flag("--no-cache", a.no_cache,
                     "neither use nor keep what earlier runs found by trying ($PATCHBENCH_CACHE, ~/.cache/patchbench)");
    command.add_flag("--allow-untrained", a.allow_untrained, "accept seed:<n> weights");
    command.add_flag("--trust-model", a.trusts_model, kTrustHelp);
    command.add_flag("--share-devices", a.share_devices, "allow several ranks on one GPU");
}

}  // namespace pb::app
