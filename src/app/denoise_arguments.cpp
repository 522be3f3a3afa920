#include "app/denoise_arguments.hpp"

#include "app/number_in_range.hpp"
#include "config/settings_access.hpp"
#include "config/text.hpp"

#include <algorithm>

namespace pb {

namespace {

template <class Value>
void parse_option(const char* name, const std::string& text, Value& value) {
    try {
        parse_setting(text, value);
    } catch (const UsageError& error) {
        throw UsageError(std::string(name) + ": " + error.what());
    }
}

}  // namespace

std::optional<NoiseLevel> parse_sigma(const DenoiseArguments& arguments) {
    if (arguments.sigma == "auto") return std::nullopt;
    const bool has_range = !arguments.samples.range.empty();
    return parse_noise_level("--sigma", arguments.sigma, has_range,
                             has_range ? ", or auto" : ", or auto; with --range it is in the samples' units");
}

std::optional<Compression> compression_of(const DenoiseArguments& arguments) {
    if (arguments.compress == "auto") return std::nullopt;
    Compression compression = Compression::none;
    parse_option("--compress", arguments.compress, compression);
    return compression;
}

PointSettings settings_from(const DenoiseArguments& arguments) {
    PointSettings settings;
    parse_option("--network", arguments.network, settings.network);
    parse_option("--device", arguments.device, settings.device);
    parse_option("--dtype", arguments.dtype, settings.dtype);
    parse_option("--halo", arguments.halo, settings.halo);
    parse_option("--batch", arguments.batch, settings.batch);
    parse_option("--threads", arguments.threads, settings.threads);
    parse_option("--output", arguments.output, settings.output);
    if (settings.output == OutputKind::checksum)
        throw UsageError("--output checksum: is for studies; denoise writes a file");
    if (!arguments.raw.empty()) set_by_key(settings, "image.raw", arguments.raw);
    settings.weights = arguments.weights;
    if (arguments.trained_sigma)
        settings.trained_sigma = parse_noise_level("--trained-sigma", *arguments.trained_sigma, false).value;
    set_samples(arguments.samples, settings.image);
    settings.patch = arguments.patch;
    settings.memory_limit_mib = arguments.memory_limit_mib;
    settings.image.noise_sigma = arguments.add_noise;
    settings.protocol.warmup_reps = 0;
    settings.protocol.min_reps = 1;
    settings.protocol.max_reps = 1;
    settings.protocol.forward_calls = 0;
    settings.protocol.timeline = 0;
    settings.protocol.verify = arguments.probes > 0 ? VerifyMode::probes : VerifyMode::off;
    settings.protocol.verify_probes = std::max<int64_t>(1, arguments.probes);
    settings.protocol.verify_time_share = 0;
    settings.protocol.verify_whole_max_mpx = 0;
    if (settings.weights.starts_with("seed:") && !arguments.allow_untrained)
        throw UsageError(
            "'" + settings.weights +
            "' are untrained weights: the result would be no denoised image; name trained ones with --weights, "
            "or insist with --allow-untrained");
    return settings;
}

void add_denoise_options(CLI::App& command, DenoiseArguments& a) {
    command
        .add_option(
            "paths", a.paths,
            "IN... OUT: files, folders or patterns; then a file, or a folder: one that is there, or a name that "
            "ends in / and is made")
        ->required();
    command.add_flag("--no-clobber", a.no_clobber, "leave outputs that are there as they are");
    command.add_option("--network", a.network, "drunet | unet | dncnn");
    command.add_option("--weights", a.weights, "weights file, or default (models/<network>.yaml)");
    command.add_option("--device", a.device, "auto | cpu | cuda");
    command.add_option(
        "--sigma", a.sigma,
        "noise level in [0,1], with --range in the samples' units, as 0.1 or 25/255 (a share of the range), "
        "or auto (estimated: median absolute deviation of wavelet coefficients)");
    command.add_option("--trained-sigma", a.trained_sigma,
                       "noise level that the weights were trained for, as 0.1 or 25/255, where they do not say it");
    add_sample_options(command, a.samples);
    command.add_option("--output", a.output, "auto | memory | file (written by all ranks: none holds the image)");
    command.add_option(
        "--compress", a.compress,
        "none | deflate | lzw: tiles of a TIFF, in a second pass by one rank; auto: as the input, where the "
        "output is held in memory");
    command.add_option("--raw", a.raw, "the inputs are raw samples of this shape and type, as 2000x3000x1:u16");
    command.add_option("--patch", a.patch, "patch edge in pixels");
    command.add_option("--halo", a.halo, "none | pixels | exact | auto (smallest without visible seams, probed)");
    command.add_option("--batch", a.batch, "windows in one forward call, or auto");
    command.add_option("--dtype", a.dtype, "fp32 | tf32 | bf16 | fp16");
    command.add_option("--threads", a.threads, "CPU threads of a rank, or auto");
    command.add_option("--memory-limit-mib", a.memory_limit_mib, "cap on the network's memory")
        ->check(number_in_range(0, kMaxEdge, "MiB"));
    command.add_option("--add-noise", a.add_noise, "add Gaussian noise of this sigma first, and report PSNR")
        ->check(number_in_range(0, 1));
    command.add_option("--verify", a.probes, "windows that are run again and compared; 0: none")
        ->check(number_in_range(0, kMaxCount));
    command.add_flag("--allow-untrained", a.allow_untrained, "accept seed:<n> weights");
    command.add_flag("--share-devices", a.share_devices, "allow several ranks on one GPU");
}

}  // namespace pb
