// patchbench denoise IN... OUT: denoises images for everyday use. It uses the points, plan and pipeline of a study,
// with one pass for each image.
#include "app/band_output.hpp"
#include "app/commands.hpp"
#include "app/denoise_arguments.hpp"
#include "app/denoise_inputs.hpp"
#include "app/denoise_line.hpp"
#include "app/file_centre.hpp"
#include "app/judge_all.hpp"
#include "app/session.hpp"
#include "base/noise_level.hpp"
#include "config/text.hpp"
#include "report/report.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/launch.hpp"
#include "run/pixels/image_source.hpp"
#include "run/run.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pb {

namespace {

/// Ranks that work together on one image: all ranks, or single ranks when there are enough images.
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

/// Formats a range as the setting image.range does.
std::string range_setting(const SampleRange& range) {
    return format_setting(range.low) + ":" + format_setting(range.high);
}

/// One pass over one image, or over a group of its bands. The output file holds all groups.
struct Pass {
    Point point;
    std::unique_ptr<ImageSource> source;
    std::string note;  // about the range of the samples; on the root only
};

class Denoise {
  public:
    Denoise(const DenoiseArguments& arguments, const Group& group)
        : settings_(settings_from(arguments)),
          compression_(arguments.compression),
          bands_(arguments.bands),
          sigma_(sigma_from(arguments)),
          group_(group),
          study_(study_settings(arguments)),
          runner_(group.ranks, group.topology, study_) {}

    /// Returns lines about the file on the group's root: one, or one for each group of bands. When a file cannot be
    /// read or written, the error is thrown if it is the only file; otherwise it becomes a line as well.
    std::string run(const DenoiseJob& job, bool single) {
        try {
            settings_.image.path = job.input.string();
            OpenImage file;
            std::vector<std::string> groups;
            together(group_.ranks, [&] {
                file = open_file(settings_.image);
                groups = groups_of(file->info());
            });
            return groups.empty() ? run_image(job, file) : run_bands(job, file, groups);
        } catch (const AgreedError& error) {
            if (single) throw;
            PointTrace trace;
            trace.status = PointStatus::failed;
            trace.reason = error.what();
            return take(job, trace, {});
        }
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

    /// Records the result of a pass and returns its line.
    std::string take(const DenoiseJob& job, const PointTrace& trace, const std::string& note) {
        summaries_.push_back(summarise(trace));
        return denoise_line(job, trace, summaries_.back(), {note, sigma_note(trace.point)});
    }

    std::string run_image(const DenoiseJob& job, const OpenImage& file) {
        Pass pass = plan_pass(job, file, "");
        const PointFiles files{.image = job.output, .compression = compression_};
        return take(job, runner_.run(pass.point, files, pass.source.get()), pass.note);
    }

    /// Denoises one group of bands after the other and joins them on the root. Writes nothing unless all groups
    /// succeeded.
    std::string run_bands(const DenoiseJob& job, const OpenImage& file, const std::vector<std::string>& groups) {
        std::optional<BandOutput> all;
        std::string lines;
        bool complete = true;
        for (const std::string& bands : groups) {
            Pass pass = plan_pass(job, file, bands);
            together(group_.ranks, [&] {
                if (!all && group_.ranks.is_root()) all.emplace(file);
            });
            const auto take_bands = [&](const PixelView& denoised) { all.value().take(bands, denoised); };
            const PointFiles files{.image = job.output, .compression = compression_, .take = take_bands};
            const PointTrace trace = runner_.run(pass.point, files, pass.source.get());
            complete = complete && !trace.output_file.empty();
            lines += (lines.empty() ? "" : "\n") + take(job, trace, pass.note);
        }
        together(group_.ranks, [&] {
            if (complete && all) all->save(job.output, compression_);
        });
        return lines;
    }

    /// Returns the groups of bands that are denoised one after the other; empty when a network takes the image as it
    /// is.
    std::vector<std::string> groups_of(const ImageInfo& info) {
        if (bands_ != "auto") return band_groups(num_bands(info), bands_ == "1" ? 1 : 3);
        if (info.channels == 1 || info.channels == 3) return {};
        return band_groups(info.channels, channels_of_weights());
    }

    /// Returns 3 if there are weights for colour images, otherwise 1.
    int64_t channels_of_weights() {
        try {
            return find_weights(settings_.network, settings_.weights, 3).channels();
        } catch (const UsageError&) {
            return find_weights(settings_.network, settings_.weights, 1).channels();
        }
    }

    /// Plans a pass. Collective.
    Pass plan_pass(const DenoiseJob& job, const OpenImage& file, const std::string& bands) {
        PointSettings settings = settings_;
        settings.image.bands = bands;
        Pass pass{.source = open_source(file, settings.image)};
        ImageSource& source = *pass.source;
        double sigma = 0;
        together(group_.ranks, [&] {
            check_can_save(file->info(), job.output);
            check_can_compress(compression_.value_or(Compression::none), job.output);
            if (group_.ranks.is_root()) pass.note = range_note(settings.image, source);
            sigma = find_sigma(settings.image, source, pass.note);
        });
        settings.sigma = group_.ranks.broadcast(sigma);
        together(group_.ranks, [&] {
            pass.point = make_plan(
                             {study_, {settings}, ""}, group_.topology, [&](const auto&) { return source.facts(); },
                             [&](const auto& point, int64_t channels) { return runner_.shape_of(point, channels); })
                             .points.front();
        });
        return pass;
    }

    /// Opens the samples of `image` on each rank. The root finds an automatic range and broadcasts it, because the
    /// other ranks might have to decode the file for it.
    std::unique_ptr<ImageSource> open_source(const OpenImage& file, ImageSettings& image) {
        std::unique_ptr<ImageSource> source;
        const auto open = [&] { source = std::make_unique<ImageSource>(image, file); };
        const bool searches = parse_range(image.range).kind == RangeChoice::Kind::automatic;
        together(group_.ranks, [&] {
            if (!searches || group_.ranks.is_root()) open();
        });
        if (!searches) return source;
        image.range = group_.ranks.broadcast(source ? range_setting(source->map()->range()) : "");
        together(group_.ranks, [&] {
            if (!source) open();
        });
        return source;
    }

    /// Returns the noise level. Only the root estimates it, because other ranks would have to decode the file; they
    /// return 0.
    [[nodiscard]] double find_sigma(const ImageSettings& image, ImageSource& source, const std::string& note) const {
        if (sigma_) return sigma_of(*sigma_, source.map() == nullptr ? SampleRange{} : source.map()->range());
        if (image.noise_sigma > 0) return image.noise_sigma;
        return group_.ranks.is_root() ? std::max(kSmallestSigma, estimate_sigma(image, source, note)) : 0;
    }

    /// Adds the estimated noise to the note when it was not used and the user gave no number.
    [[nodiscard]] std::string sigma_note(const Point& point) const {
        const bool is_found = !point.uses_sigma && !sigma_ && point.settings.image.noise_sigma == 0;
        return point.sigma_note + (is_found ? fmt::format(" (the image's noise is about {:.3g})", point.sigma) : "");
    }

    PointSettings settings_;
    std::optional<Compression> compression_;
    std::string bands_;
    std::optional<NoiseLevel> sigma_;
    const Group& group_;
    StudySettings study_;
    Runner runner_;
    std::vector<Summary> summaries_;
};

/// Prints the lines of all groups and one verdict on all files.
ExitCode conclude(const Communicator& world, const Group& group, const std::vector<std::string>& lines,
                  const std::vector<Summary>& summaries) {
    const bool speaks = group.ranks.is_root();
    std::string said;
    for (const auto& line : lines) said += line + "\n";
    const auto texts = world.gather(speaks ? said : "");
    const Verdict verdict = judge_all(world, speaks ? summaries : std::vector<Summary>());
    if (world.is_root()) fmt::print("{}\n{}\n", fmt::join(texts, ""), verdict_line(verdict));
    return verdict.exit_code;
}

/// Removes the jobs whose output exists already, and says so. The root decides which exist.
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

/// Sets the network that the weights file holds. The root reads the file.
void take_network_of_weights(const Communicator& world, PointSettings& settings) {
    NetworkKind network = settings.network;
    together(world, [&] {
        if (world.is_root()) network = network_in(settings.weights).value_or(network);
    });
    settings.network = parse_enum<NetworkKind>(world.broadcast(std::string(name_of(network))));
}

ExitCode run_denoise(DenoiseArguments arguments, RankSession& session) {
    const Communicator& world = session.world();
    require_same_software(world);
    std::vector<DenoiseJob> jobs;
    PointSettings settings;
    together(world, [&] {
        if (arguments.paths.size() < 2) throw UsageError("denoise takes inputs and an output: denoise IN... OUT");
        settings = settings_from(arguments);
        (void)sigma_from(arguments);
        jobs =
            list_jobs({arguments.paths.begin(), arguments.paths.end() - 1}, arguments.paths.back(), settings.weights);
    });
    session.watch(StudySettings{}.watchdog_s);
    const bool single = jobs.size() == 1;
    if (arguments.no_clobber) keep_existing(world, jobs);
    if (jobs.empty()) return ExitCode::ok;
    if (!arguments.names_network) take_network_of_weights(world, arguments.settings);
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

}  // namespace

void add_denoise_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<DenoiseArguments>();
    CLI::App* command = app.add_subcommand("denoise", "denoise images, keeping type, size, alpha and metadata");
    add_denoise_options(*command, *arguments);
    command->callback([&chosen, arguments, command] {
        arguments->names_network = command->count("--network") > 0;
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_denoise(*arguments, session); });
        };
    });
}

}  // namespace pb
