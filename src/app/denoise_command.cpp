// patchbench denoise IN... OUT: denoises images for everyday use. It uses the points, plan and pipeline of a study,
// with one pass for each image.
#include "app/band_output.hpp"
#include "app/brought_networks.hpp"
#include "app/commands.hpp"
#include "app/denoise_arguments.hpp"
#include "app/denoise_launch.hpp"
#include "app/denoise_line.hpp"
#include "app/denoise_progress.hpp"
#include "app/denoise_results.hpp"
#include "app/denoise_stack.hpp"
#include "app/file_centre.hpp"
#include "app/session.hpp"
#include "base/noise_level.hpp"
#include "base/user_cache.hpp"
#include "config/text.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/launch.hpp"
#include "run/pixels/image_source.hpp"
#include "run/run.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pb::app {

namespace {

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
          pages_(parse_pages(arguments.pages)),
          sigma_(sigma_from(arguments)),
          group_(group),
          study_(study_settings(arguments)),
          runner_(group.ranks, group.topology, study_),
          progress_(progress) {
        runner_.report_to(&progress_);
        runner_.bound_searches(arguments.no_cache ? "" : cache_folder());
    }

    /// Keeps engines from one image to the next.
    void keep_engines() {
        if (settings_.memory_limit_mib == 0) runner_.keep_engines();
    }

    /// Returns lines about the file on the group's root: one, or one for each group of bands. When a file cannot be
    /// read or written, the error is thrown if it is the only file; otherwise it becomes a line as well.
    std::string run(const DenoiseJob& job, bool single) {
        summaries_.clear();
        try {
            settings_.image.path = job.input.string();
            run::OpenImage file;
            std::vector<std::string> groups;
            run::together(group_.ranks, [&] {
                file = run::open_pages(settings_.image, pages_);
                groups = find_band_groups(file->info(), bands_, settings_);
            });
            if (file->num_pages() > 1) return run_stack(job, file, groups);
            return groups.empty() ? run_image(job, file) : run_bands(job, file, groups);
        } catch (const run::PointFailed& error) {
            if (single) throw;
            return fail(job, error.status(), error.what());
        } catch (const std::exception& error) {
            // All ranks of the group throw an AgreedError. After another error, ranks might wait for each other.
            const bool is_agreed = dynamic_cast<const run::AgreedError*>(&error) != nullptr;
            if (single || (!is_agreed && group_.ranks.size() > 1)) throw;
            return fail(job, record::PointStatus::failed, error.what());
        }
    }

    /// Returns what interrupted the run. Collective over the group.
    [[nodiscard]] std::optional<std::string> find_interruption() const { return runner_.find_interruption(); }
    /// The passes over the last image.
    [[nodiscard]] const std::vector<measure::Summary>& summaries() const { return summaries_; }

  private:
    static config::StudySettings study_settings(const DenoiseArguments& arguments) {
        config::StudySettings study;
        study.name = "denoise";
        study.bounds = false;
        study.device_sharing = arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
        return study;
    }

    std::string fail(const DenoiseJob& job, record::PointStatus status, const std::string& reason) {
        record::PointTrace trace;
        trace.status = status;
        trace.reason = reason;
        return take(job, trace, {});
    }

    /// Records the result of a pass and returns its line.
    std::string take(const DenoiseJob& job, const record::PointTrace& trace, const std::string& note) {
        summaries_.push_back(measure::summarise(trace));
        return denoise_line(job, trace, summaries_.back(), {note, sigma_note(trace.point), trace.point.weights_note});
    }

    std::string run_image(const DenoiseJob& job, const run::OpenImage& file) {
        Pass pass = plan_pass(job, file, "", settings_.image.range);
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
            Pass pass = plan_pass(job, file, bands, settings_.image.range);
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

    std::string run_stack(const DenoiseJob& job, const run::OpenImage& file, const std::vector<std::string>& groups) {
        const auto run_pass = [&](const StackPass& part) {
            Pass pass = plan_pass(job, file, part.bands, part.range);
            const int64_t num_pages = file->num_pages();
            progress_.expect(static_cast<double>(pass.source->extent().pixels() * num_pages),
                             num_pages * std::max<int64_t>(std::ssize(groups), 1));
            const run::PointFiles files{.image = job.output, .compression = compression_, .take = part.take};
            record::PointTrace trace = runner_.run(pass.point, files, pass.source.get());
            summaries_.push_back(measure::summarise(trace));
            return PassResult{std::move(trace), summaries_.back(), std::move(pass.note)};
        };
        return denoise_stack({group_.ranks, job, file, settings_.image, compression_, groups, run_pass});
    }

    /// Plans a pass. Collective.
    Pass plan_pass(const DenoiseJob& job, const run::OpenImage& file, const std::string& bands,
                   const std::string& range) {
        progress_.begin(run::Activity::reading);
        config::PointSettings settings = settings_;
        settings.image.bands = bands;
        settings.image.range = range;
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
    std::vector<int64_t> pages_;
    std::optional<NoiseLevel> sigma_;
    const Group& group_;
    config::StudySettings study_;
    run::Runner runner_;
    DenoiseProgress& progress_;
    std::vector<measure::Summary> summaries_;
};

/// Sets the network that the weights file holds. The root reads the file.
void take_network_of_weights(const comm::Communicator& world, config::PointSettings& settings) {
    network::NetworkKind network = settings.network;
    run::together(world, [&] {
        if (world.is_root()) network = run::network_in(settings.weights).value_or(network);
    });
    settings.network = parse_enum<network::NetworkKind>(world.broadcast(std::string(name_of(network))));
}

/// Denoises the images that single ranks work on, or those that all ranks work on. Collective.
void denoise_images(const DenoiseLaunch& launch, bool apart, DenoiseProgress& progress, ImageResults& results) {
    const size_t count = (apart ? launch.sharing.apart : launch.sharing.together).size();
    if (count == 0) return;
    const Group group = make_group(launch, apart);
    Denoise denoise(launch.arguments, group, progress);
    if (apart && count > 1) denoise.keep_engines();
    const auto work = [&](size_t job, int64_t number) {
        if (denoise.find_interruption()) return false;
        const DenoiseJob& image = launch.jobs[job];
        progress.begin_image(image.input.filename().string(), number, std::ssize(launch.jobs));
        std::string lines = denoise.run(image, launch.single);
        if (group.ranks.is_root()) results.add(job, std::move(lines), denoise.summaries());
        return true;
    };
    apart ? work_apart(launch, work) : work_together(launch, work);
}

ExitCode run_denoise(DenoiseArguments arguments, RankSession& session) {
    const comm::Communicator& world = session.world();
    run::require_same_software(world);
    config::PointSettings settings;
    run::together(world, [&] {
        if (arguments.paths.size() < 2) throw UsageError("denoise takes inputs and an output: denoise IN... OUT");
        settings = settings_from(arguments);
        (void)sigma_from(arguments);
        (void)parse_pages(arguments.pages);
    });
    DenoiseJobs found = list_jobs(world, paths_from(arguments));
    session.watch(config::StudySettings{}.watchdog_s);
    const size_t num_named = found.jobs.size();
    if (arguments.no_clobber) keep_existing(world, found.jobs);
    if (found.jobs.empty()) return ExitCode::ok;
    if (!arguments.names_network) take_network_of_weights(world, arguments.settings);
    settle_networks({&arguments.settings}, arguments.trusts_model, world);
    const config::SharingRule sharing =
        arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
    const plan::Topology topology = run::gather_topology(world, {settings.device, sharing});
    if (world.is_root()) print_nodes(topology);
    DenoiseLaunch launch = make_launch(arguments, world, topology, found.jobs);
    launch.single = num_named == 1;
    DenoiseProgress progress(world.is_root());
    ImageResults results;
    for (const bool apart : {false, true}) denoise_images(launch, apart, progress, results);
    return conclude(world, std::move(results),
                    {found.jobs.size(), num_named - found.jobs.size(), found.num_passed_over}, progress);
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
