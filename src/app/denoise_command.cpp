// patchbench denoise IN... OUT: the tool for every day. The same points, plan and pipeline as a study, one pass each.
#include "app/commands.hpp"
#include "app/denoise_inputs.hpp"
#include "app/file_centre.hpp"
#include "app/session.hpp"
#include "app/within.hpp"

#include "patchbench/config/by_key.hpp"
#include "patchbench/config/text.hpp"
#include "patchbench/image/placed_image.hpp"
#include "patchbench/measure/summary.hpp"
#include "patchbench/measure/verdict.hpp"
#include "patchbench/report/report.hpp"
#include "patchbench/run/agreement.hpp"
#include "patchbench/run/environment.hpp"
#include "patchbench/run/image_source.hpp"
#include "patchbench/run/launch.hpp"
#include "patchbench/run/run.hpp"
#include "patchbench/run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pb {

namespace {

struct DenoiseArguments {
    std::vector<std::string> paths;  // IN... OUT
    std::string network = "dncnn", weights = "default", device = "auto", sigma = "auto", halo = "auto", batch = "auto";
    std::optional<std::string> trained_sigma;  // none: what the weights or their model card say
    std::string dtype = "fp32", threads = "auto", raw, output = "auto", compress = "auto";
    int64_t patch = 256;
    int64_t memory_limit_mib = 0;
    int64_t probes = 1;
    double add_noise = 0;
    bool allow_untrained = false;
    bool share_devices = false;
    bool no_clobber = false;
};

/// Far below one grey level of 16 bits' noise; a network trained for one sigma scales its input by the quotient.
constexpr double kSmallestSigma = 1e-4;

/// "0.1" or "25/255".
double parse_noise_level(const std::string& option, const std::string& text, const std::string& or_else) {
    const size_t slash = text.find('/');
    double value = 0, divisor = 1;
    try {
        parse_setting(text.substr(0, slash), value);
        if (slash != std::string::npos) parse_setting(text.substr(slash + 1), divisor);
    } catch (const UsageError&) {
        value = -1;
    }
    if (!(value / divisor >= kSmallestSigma && value / divisor <= 1))
        throw UsageError(option + " " + text + ": must be a noise level from 0.0001 to 1, as 0.1 or 25/255" + or_else);
    return value / divisor;
}

/// Empty: auto.
std::optional<double> parse_sigma(const std::string& text) {
    if (text == "auto") return std::nullopt;
    return parse_noise_level("--sigma", text, ", or auto");
}

template <class Value>
void parse_option(const char* name, const std::string& text, Value& value) {
    try {
        parse_setting(text, value);
    } catch (const UsageError& error) {
        throw UsageError(std::string(name) + ": " + error.what());
    }
}

/// None for auto: as the input's.
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
        settings.trained_sigma = parse_noise_level("--trained-sigma", *arguments.trained_sigma, "");
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

/// Ranks that work on one image together: all of them, or each on its own when there are enough images.
struct Group {
    Communicator ranks;
    Topology topology;
    Range jobs;
};

Group make_group(const Communicator& world, const Topology& topology, int64_t num_jobs) {
    const bool apart = world.size() > 1 && num_jobs >= world.size();
    Group group{world.split(apart ? world.rank() : 0, world.rank()), topology, {0, num_jobs}};
    if (!apart) return group;
    group.jobs = shard(num_jobs, world.rank(), world.size());
    group.topology.ranks = {topology.ranks[static_cast<size_t>(world.rank())]};
    group.topology.ranks.front().rank = 0;
    return group;
}

/// Only what was used is named.
std::string sigma_text(const Point& point) {
    return point.no_sigma.empty() ? fmt::format("sigma {:.4g}, ", point.sigma) : "";
}

class Denoise {
  public:
    Denoise(const DenoiseArguments& arguments, const Group& group)
        : settings_(settings_from(arguments)),
          compression_(compression_of(arguments)),
          sigma_(parse_sigma(arguments.sigma)),
          group_(group),
          study_(study_settings(arguments)),
          runner_(group.ranks, group.topology, study_) {}

    /// A line about the file, on the group's root. Of several files one that cannot be read or written is a line, too;
    /// of a single one it is the user's error.
    std::string run(const DenoiseJob& job, bool single) {
        PointTrace trace;
        try {
            together(group_.ranks, [&] { trace.point = plan_for(job); });
            trace = runner_.run(trace.point, {.image = job.output, .compression = compression_});
        } catch (const AgreedError& error) {
            if (single) throw;
            trace.status = PointStatus::failed;
            trace.reason = error.what();
        }
        summaries_.push_back(summarise(trace));
        return line_for(job, trace, summaries_.back());
    }

    [[nodiscard]] const std::vector<Summary>& summaries() const { return summaries_; }

  private:
    static StudySettings study_settings(const DenoiseArguments& arguments) {
        StudySettings study;
        study.name = "denoise";
        study.bounds = false;
        study.device_sharing = arguments.share_devices ? SharingRule::allow : SharingRule::error;
        return study;
    }

    Point plan_for(const DenoiseJob& job) {
        PointSettings settings = settings_;
        settings.image.path = job.input.string();
        ImageSource source(settings.image);
        check_can_save(source.file()->info(), job.output);
        check_can_compress(compression_.value_or(Compression::none), job.output);
        range_note_ = range_note(settings.image);
        settings.sigma = sigma_ ? *sigma_
                         : settings.image.noise_sigma > 0
                             ? settings.image.noise_sigma
                             : std::max(kSmallestSigma, estimate_sigma(settings.image, range_note_));
        return make_plan({study_, {settings}, ""}, group_.topology, source_facts).points.front();
    }

    [[nodiscard]] std::string line_for(const DenoiseJob& job, const PointTrace& trace, const Summary& summary) const {
        if (trace.status != PointStatus::ok)
            return fmt::format("{}: {}: {}", job.input.string(), name_of(trace.status), trace.reason);
        if (trace.output_file.empty())
            return fmt::format("{}: the result is wrong and was not written to {}", job.input.string(),
                               job.output.string());
        const Point& point = trace.point;
        std::string line =
            fmt::format("{} -> {}: {}x{}, {}, {}halo {}, batch {}, {} rank(s): {:.2f} s, {:.3g} Mpx/s",
                        job.input.string(), job.output.string(), point.source.extent.w, point.source.extent.h,
                        name_of(point.settings.network), sigma_text(point), *point.halo, *point.batch, point.num_ranks,
                        summary.pipeline_s.value_or(0), summary.useful_mpx_per_s.value_or(0));
        if (trace.quality)
            line += fmt::format(", PSNR {:.2f} -> {:.2f} dB", trace.quality->psnr_noisy_db,
                                trace.quality->psnr_denoised_db);
        for (const std::string& note : {range_note_, point.no_sigma})
            if (!note.empty()) line += "; note: " + note;
        if (!trace.lost_metadata.empty()) line += "\n  not kept: " + trace.lost_metadata;
        return line;
    }

    PointSettings settings_;
    std::optional<Compression> compression_;
    std::optional<double> sigma_;
    const Group& group_;
    StudySettings study_;
    Runner runner_;
    std::vector<Summary> summaries_;
    std::string range_note_;  // of the file that was planned last
};

/// The worst of all files over all groups, printed once.
ExitCode conclude(const Communicator& world, const Group& group, const std::vector<std::string>& lines,
                  const std::vector<Summary>& summaries) {
    const Verdict verdict = judge(summaries, false);
    std::string said;
    for (const auto& line : lines) said += line + "\n";
    if (group.ranks.is_root()) said += "\n" + verdict_line(verdict);
    const auto texts = world.gather(group.ranks.is_root() ? said : "");
    for (const auto& text : texts)
        if (!text.empty()) fmt::print("{}\n", text);
    const double own = group.ranks.is_root() ? static_cast<double>(verdict.exit_code) : 0;
    return static_cast<ExitCode>(static_cast<int>(world.max(own)));
}

/// Takes out of `jobs` what has its output already, and says so; as the root sees it.
void keep_existing(const Communicator& world, std::vector<DenoiseJob>& jobs) {
    std::string missing;
    together(world, [&] { missing = missing_outputs(jobs); });
    missing = world.broadcast(missing);
    std::vector<DenoiseJob> rest;
    for (size_t i = 0; i < jobs.size(); ++i) {
        if (missing.at(i) == '1')
            rest.push_back(jobs[i]);
        else if (world.is_root())
            fmt::print("{}: not denoised: {} is there (--no-clobber)\n", jobs[i].input.string(),
                       jobs[i].output.string());
    }
    jobs = std::move(rest);
}

ExitCode run_denoise(const DenoiseArguments& arguments, RankSession& session) {
    const Communicator& world = session.world();
    require_same_software(world);
    std::vector<DenoiseJob> jobs;
    PointSettings settings;
    together(world, [&] {
        if (arguments.paths.size() < 2) throw UsageError("denoise takes inputs and an output: denoise IN... OUT");
        settings = settings_from(arguments);
        (void)compression_of(arguments);
        (void)parse_sigma(arguments.sigma);
        jobs =
            list_jobs({arguments.paths.begin(), arguments.paths.end() - 1}, arguments.paths.back(), arguments.weights);
    });
    session.watch(StudySettings{}.watchdog_s);
    const bool single = jobs.size() == 1;
    if (arguments.no_clobber) keep_existing(world, jobs);
    if (jobs.empty()) return ExitCode::ok;
    const SharingRule sharing = arguments.share_devices ? SharingRule::allow : SharingRule::error;
    const Topology topology = gather_topology(world, {settings.device, sharing});
    if (world.is_root()) print_nodes(topology);
    const Group group = make_group(world, topology, static_cast<int64_t>(jobs.size()));
    Denoise denoise(arguments, group);
    std::vector<std::string> lines;
    for (int64_t i = group.jobs.begin; i < group.jobs.end; ++i)
        if (auto line = denoise.run(jobs[static_cast<size_t>(i)], single); group.ranks.is_root())
            lines.push_back(std::move(line));
    return conclude(world, group, lines, denoise.summaries());
}

void add_options(CLI::App& command, DenoiseArguments& a) {
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
    command.add_option("--sigma", a.sigma,
                       "noise level in [0,1], as 0.1 or 25/255, or auto (estimated: median absolute deviation of "
                       "wavelet coefficients)");
    command.add_option("--trained-sigma", a.trained_sigma,
                       "noise level that the weights were trained for, as 0.1 or 25/255, where they do not say it");
    command.add_option("--output", a.output, "auto | memory | file (written by all ranks: none holds the image)");
    command.add_option("--compress", a.compress,
                       "none | deflate | lzw: tiles of a TIFF, in a second pass by one rank; auto: as the input, where "
                       "the output is held in memory");
    command.add_option("--raw", a.raw, "the inputs are raw samples of this shape and type, as 2000x3000x1:u16");
    command.add_option("--patch", a.patch, "patch edge in pixels");
    command.add_option("--halo", a.halo, "none | pixels | exact | auto (smallest without visible seams, probed)");
    command.add_option("--batch", a.batch, "windows in one forward call, or auto");
    command.add_option("--dtype", a.dtype, "fp32 | tf32 | bf16 | fp16");
    command.add_option("--threads", a.threads, "CPU threads of a rank, or auto");
    command.add_option("--memory-limit-mib", a.memory_limit_mib, "cap on the network's memory")
        ->check(within(0, kMaxEdge, "MiB"));
    command.add_option("--add-noise", a.add_noise, "add Gaussian noise of this sigma first, and report PSNR")
        ->check(within(0, 1));
    command.add_option("--verify", a.probes, "windows that are run again and compared; 0: none")
        ->check(within(0, kMaxCount));
    command.add_flag("--allow-untrained", a.allow_untrained, "accept seed:<n> weights");
    command.add_flag("--share-devices", a.share_devices, "allow several ranks on one GPU");
}

}  // namespace

void add_denoise_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<DenoiseArguments>();
    CLI::App* command = app.add_subcommand("denoise", "denoise images, keeping type, size, alpha and metadata");
    add_options(*command, *arguments);
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_denoise(*arguments, session); });
        };
    });
}

}  // namespace pb
