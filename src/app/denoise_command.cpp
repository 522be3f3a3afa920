// patchbench denoise IN... OUT: denoises images for everyday use. It uses the points, plan and pipeline of a study,
// with one pass for each image.
#include "app/band_output.hpp"
#include "app/commands.hpp"
#include "app/denoise_arguments.hpp"
#include "app/denoise_inputs.hpp"
#include "app/denoise_line.hpp"
#include "app/denoise_progress.hpp"
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

namespace pb::app {

namespace {

/// Ranks that work together on one image: all ranks, or single ranks when there are enough images.
struct Group {
    comm::Communicator ranks;
    plan::Topology topology;
    Range jobs;
};

Group make_group(const comm::Communicator& world, const plan::Topology& topology, int64_t num_jobs) {
    const bool apart = world.size() > 1 && num_jobs >= world.size();
    Group group{world.split(apart ? world.rank() : 0, world.rank()), topology, {0, num_jobs}};
    if (!apart) return group;
    group.jobs = shard(num_jobs, world.rank(), world.size());
    group.topology.ranks = {topology.ranks[static_cast<size_t>(world.rank())]};
    group.topology.ranks.front().rank = 0;
    return group;
}

/// Formats a range as the setting image.range does.
std::string range_setting(const image::SampleRange& range) {
    return config::format_setting(range.low) + ":" + config::format_setting(range.high);
}

/// One pass over one image, or over a group of its bands. The output file holds all groups.
struct Pass {
    plan::Point point;
    std::unique_ptr<run::ImageSource> source;
    std::string note;  // about the range of the samples; on the root only
};

class Denoise {
  public:
    Denoise(const DenoiseArguments& arguments, const Group& group, DenoiseProgress& progress)
        : settings_(settings_from(arguments)),
          compression_(arguments.compression),
          bands_(arguments.bands),
          sigma_(sigma_from(arguments)),
          group_(group),
          study_(study_settings(arguments)),
          runner_(group.ranks, group.topology, study_),
          progress_(progress) {
        runner_.report_to(&progress_);
    }

    /// Returns lines about the file on the group's root: one, or one for each group of bands. When a file cannot be
    /// read or written, the error is thrown if it is the only file; otherwise it becomes a line as well.
    std::string run(const DenoiseJob& job, bool single) {
        try {
            settings_.image.path = job.input.string();
            run::OpenImage file;
            std::vector<std::string> groups;
            run::together(group_.ranks, [&] {
                file = run::open_file(settings_.image);
                groups = groups_of(file->info());
            });
            return groups.empty() ? run_image(job, file) : run_bands(job, file, groups);
        } catch (const run::AgreedError& error) {
            if (single) throw;
            record::PointTrace trace;
            trace.status = record::PointStatus::failed;
            trace.reason = error.what();
            return take(job, trace, {});
        }
    }

    [[nodiscard]] const std::vector<measure::Summary>& summaries() const { return summaries_; }

  private:
    static config::StudySettings study_settings(const DenoiseArguments& arguments) {
        config::StudySettings study;
        study.name = "denoise";
        study.bounds = false;
        study.device_sharing = arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
        return study;
    }

    /// Records the result of a pass and returns its line.
    std::string take(const DenoiseJob& job, const record::PointTrace& trace, const std::string& note) {
        summaries_.push_back(measure::summarise(trace));
        return denoise_line(job, trace, summaries_.back(), {note, sigma_note(trace.point)});
    }

    std::string run_image(const DenoiseJob& job, const run::OpenImage& file) {
        Pass pass = plan_pass(job, file, "");
        progress_.expect(static_cast<double>(pass.source->extent().pixels()), 1);
        const run::PointFiles files{.image = job.output, .compression = compression_};
        return take(job, runner_.run(pass.point, files, pass.source.get()), pass.note);
    }

    /// Denoises one group of bands after the other and joins them on the root. Writes nothing unless all groups
    /// succeeded.
    std::string run_bands(const DenoiseJob& job, const run::OpenImage& file, const std::vector<std::string>& groups) {
        std::optional<BandOutput> all;
        std::string lines;
        bool complete = true;
        for (const std::string& bands : groups) {
            Pass pass = plan_pass(job, file, bands);
            progress_.expect(static_cast<double>(pass.source->extent().pixels()), std::ssize(groups));
            run::together(group_.ranks, [&] {
                if (!all && group_.ranks.is_root()) all.emplace(file);
            });
            const auto take_bands = [&](const PixelView& denoised) { all.value().take(bands, denoised); };
            const run::PointFiles files{.image = job.output, .compression = compression_, .take = take_bands};
            const record::PointTrace trace = runner_.run(pass.point, files, pass.source.get());
            complete = complete && !trace.output_file.empty();
            lines += (lines.empty() ? "" : "\n") + take(job, trace, pass.note);
        }
        progress_.begin(run::Activity::writing);
        run::together(group_.ranks, [&] {
            if (complete && all) all->save(job.output, compression_);
        });
        return lines;
    }

    /// Returns the groups of bands that are denoised one after the other; empty when a network takes the image as it
    /// is.
    std::vector<std::string> groups_of(const image::ImageInfo& info) {
        if (bands_ != "auto") return band_groups(num_bands(info), bands_ == "1" ? 1 : 3);
        if (info.channels == 1 || info.channels == 3) return {};
        return band_groups(info.channels, channels_of_weights());
    }

    /// Returns 3 if there are weights for colour images, otherwise 1.
    int64_t channels_of_weights() {
        try {
            return run::find_weights(settings_.network, settings_.weights, 3).channels();
        } catch (const UsageError&) {
            return run::find_weights(settings_.network, settings_.weights, 1).channels();
        }
    }

    /// Plans a pass. Collective.
    Pass plan_pass(const DenoiseJob& job, const run::OpenImage& file, const std::string& bands) {
        progress_.begin(run::Activity::reading);
        config::PointSettings settings = settings_;
        settings.image.bands = bands;
        Pass pass{.source = open_source(file, settings.image)};
        run::ImageSource& source = *pass.source;
        double sigma = 0;
        run::together(group_.ranks, [&] {
            image::check_can_save(file->info(), job.output);
            image::check_can_compress(compression_.value_or(image::Compression::none), job.output);
            if (group_.ranks.is_root()) pass.note = range_note(settings.image, source);
            sigma = find_sigma(settings.image, source, pass.note);
        });
        settings.sigma = group_.ranks.broadcast(sigma);
        run::together(group_.ranks, [&] {
            pass.point = plan::make_plan(
                             {study_, {settings}, ""}, group_.topology, [&](const auto&) { return source.facts(); },
                             [&](const auto& point, int64_t channels) { return runner_.shape_of(point, channels); })
                             .points.front();
        });
        return pass;
    }

    /// Opens the samples of `image` on each rank. The root finds an automatic range and broadcasts it, because the
    /// other ranks might have to decode the file for it.
    std::unique_ptr<run::ImageSource> open_source(const run::OpenImage& file, config::ImageSettings& image) {
        std::unique_ptr<run::ImageSource> source;
        const auto open = [&] { source = std::make_unique<run::ImageSource>(image, file); };
        const bool searches = config::parse_range(image.range).kind == config::RangeChoice::Kind::automatic;
        run::together(group_.ranks, [&] {
            if (!searches || group_.ranks.is_root()) open();
        });
        if (!searches) return source;
        image.range = group_.ranks.broadcast(source ? range_setting(source->map()->range()) : "");
        run::together(group_.ranks, [&] {
            if (!source) open();
        });
        return source;
    }

    /// Returns the noise level. Only the root estimates it, because other ranks would have to decode the file; they
    /// return 0.
    [[nodiscard]] double find_sigma(const config::ImageSettings& image, run::ImageSource& source,
                                    const std::string& note) const {
        if (sigma_) return sigma_of(*sigma_, source.map() == nullptr ? image::SampleRange{} : source.map()->range());
        if (image.noise_sigma > 0) return image.noise_sigma;
        return group_.ranks.is_root() ? std::max(kSmallestSigma, estimate_sigma(image, source, note)) : 0;
    }

    /// Adds the estimated noise to the note when it was not used and the user gave no number.
    [[nodiscard]] std::string sigma_note(const plan::Point& point) const {
        const bool is_found = !point.uses_sigma && !sigma_ && point.settings.image.noise_sigma == 0;
        return point.sigma_note + (is_found ? fmt::format(" (the image's noise is about {:.3g})", point.sigma) : "");
    }

    config::PointSettings settings_;
    std::optional<image::Compression> compression_;
    std::string bands_;
    std::optional<NoiseLevel> sigma_;
    const Group& group_;
    config::StudySettings study_;
    run::Runner runner_;
    DenoiseProgress& progress_;
    std::vector<measure::Summary> summaries_;
};

/// Prints the lines of all groups, what the time was spent on, and one verdict on all files.
ExitCode conclude(const comm::Communicator& world, const Group& group, const std::vector<std::string>& lines,
                  const std::vector<measure::Summary>& summaries, DenoiseProgress& progress) {
    progress.end();
    const bool speaks = group.ranks.is_root();
    std::string said;
    for (const auto& line : lines) said += line + "\n";
    const auto texts = world.gather(speaks ? said : "");
    const measure::Verdict verdict = judge_all(world, speaks ? summaries : std::vector<measure::Summary>());
    if (world.is_root())
        fmt::print("{}\n{}\n{}\n", fmt::join(texts, ""), progress.closing_line(world.size() > 1),
                   report::verdict_line(verdict));
    return verdict.exit_code;
}

/// Sets the network that the weights file holds. The root reads the file.
void take_network_of_weights(const comm::Communicator& world, config::PointSettings& settings) {
    network::NetworkKind network = settings.network;
    run::together(world, [&] {
        if (world.is_root()) network = run::network_in(settings.weights).value_or(network);
    });
    settings.network = parse_enum<network::NetworkKind>(world.broadcast(std::string(name_of(network))));
}

ExitCode run_denoise(DenoiseArguments arguments, RankSession& session) {
    const comm::Communicator& world = session.world();
    run::require_same_software(world);
    std::vector<DenoiseJob> jobs;
    config::PointSettings settings;
    run::together(world, [&] {
        if (arguments.paths.size() < 2) throw UsageError("denoise takes inputs and an output: denoise IN... OUT");
        settings = settings_from(arguments);
        (void)sigma_from(arguments);
        jobs =
            list_jobs({arguments.paths.begin(), arguments.paths.end() - 1}, arguments.paths.back(), settings.weights);
    });
    session.watch(config::StudySettings{}.watchdog_s);
    const bool single = jobs.size() == 1;
    if (arguments.no_clobber) keep_existing(world, jobs);
    if (jobs.empty()) return ExitCode::ok;
    if (!arguments.names_network) take_network_of_weights(world, arguments.settings);
    const config::SharingRule sharing =
        arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
    const plan::Topology topology = run::gather_topology(world, {settings.device, sharing});
    if (world.is_root()) print_nodes(topology);
    const Group group = make_group(world, topology, static_cast<int64_t>(jobs.size()));
    DenoiseProgress progress(world.is_root());
    Denoise denoise(arguments, group, progress);
    std::vector<std::string> lines;
    for (int64_t i = group.jobs.begin; i < group.jobs.end; ++i) {
        const DenoiseJob& job = jobs[static_cast<size_t>(i)];
        progress.begin_image(job.input.filename().string(), i - group.jobs.begin + 1, group.jobs.size());
        if (auto line = denoise.run(job, single); group.ranks.is_root()) lines.push_back(std::move(line));
    }
    return conclude(world, group, lines, denoise.summaries(), progress);
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

}  // namespace pb::app
