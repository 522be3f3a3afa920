// patchbench denoise IN... OUT: the tool for every day. The same points, plan and pipeline as a study, one pass each.
#include "app/band_output.hpp"
#include "app/commands.hpp"
#include "app/denoise_arguments.hpp"
#include "app/denoise_inputs.hpp"
#include "app/file_centre.hpp"
#include "app/judge_all.hpp"
#include "app/sample_options.hpp"
#include "app/session.hpp"
#include "config/sample_settings.hpp"
#include "config/text.hpp"
#include "image/placed_image.hpp"
#include "measure/recommendation.hpp"
#include "measure/summary.hpp"
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

std::string input_text(const DenoiseJob& job, const Point& point) {
    const std::string& bands = point.settings.image.bands;
    return job.input.string() +
           (bands.empty() ? "" : (bands.find('-') == std::string::npos ? ", band " : ", bands ") + bands);
}

/// Range and noise level with ", " after them; only what was used is named.
std::string samples_text(const Point& point) {
    const RangeChoice choice = parse_range(point.settings.image.range);
    const SampleRange range{choice.low, choice.high};
    const bool has_range = choice.kind == RangeChoice::Kind::fixed;
    if (!point.uses_sigma) return has_range ? range_text(range) + ", " : "";
    return sigma_text(point.sigma, has_range ? &range : nullptr) + ", ";
}

/// Says by how much an output with too small a halo differs from the whole image; empty where that cannot be seen.
std::string seam_note(const PointTrace& trace) {
    const auto error = visible_seams(trace);
    return error ? fmt::format(
                       "seams show: up to {:.2g} of the range beside the whole image, with a halo of {} px; "
                       "a larger one shows less, --halo exact none",
                       *error, *trace.point.halo)
                 : "";
}

/// As image.range has it.
std::string range_setting(const SampleRange& range) {
    return format_setting(range.low) + ":" + format_setting(range.high);
}

class Denoise {
  public:
    Denoise(const DenoiseArguments& arguments, const Group& group)
        : settings_(settings_from(arguments)),
          compression_(compression_of(arguments)),
          bands_(arguments.samples.bands),
          sigma_(parse_sigma(arguments)),
          group_(group),
          study_(study_settings(arguments)),
          runner_(group.ranks, group.topology, study_) {}

    /// Lines about the file, on the group's root: one, or one for each group of bands. Of several files one that cannot
    /// be read or written is a line, too; of a single one it is the user's error.
    std::string run(const DenoiseJob& job, bool single) {
        try {
            std::vector<std::string> groups;
            together(group_.ranks, [&] { groups = groups_of(job); });
            return groups.empty() ? run_image(job) : run_bands(job, groups);
        } catch (const AgreedError& error) {
            if (single) throw;
            PointTrace trace;
            trace.status = PointStatus::failed;
            trace.reason = error.what();
            summaries_.push_back(summarise(trace));
            return line_for(job, trace, summaries_.back());
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

    std::string run_image(const DenoiseJob& job) {
        PointTrace trace;
        together(group_.ranks, [&] { trace.point = plan_for(job, ""); });
        trace = runner_.run(trace.point, {.image = job.output, .compression = compression_});
        summaries_.push_back(summarise(trace));
        return line_for(job, trace, summaries_.back());
    }

    /// Group by group, put together on the root; nothing is written unless all are there.
    std::string run_bands(const DenoiseJob& job, const std::vector<std::string>& groups) {
        std::optional<BandOutput> all;
        std::string lines;
        bool complete = true;
        for (const std::string& bands : groups) {
            PointTrace trace;
            together(group_.ranks, [&] {
                trace.point = plan_for(job, bands);
                if (!all && group_.ranks.is_root()) all.emplace(trace.point.settings.image);
            });
            const auto take = [&](const PixelView& denoised) { all.value().take(bands, denoised); };
            trace = runner_.run(trace.point, {.image = job.output, .compression = compression_, .take = take});
            summaries_.push_back(summarise(trace));
            complete = complete && !trace.output_file.empty();
            lines += (lines.empty() ? "" : "\n") + line_for(job, trace, summaries_.back());
        }
        together(group_.ranks, [&] {
            if (complete && all) all->save(job.output, compression_);
        });
        return lines;
    }

    /// Groups of bands that are denoised one after the other; none: the image is one that a network takes.
    std::vector<std::string> groups_of(const DenoiseJob& job) {
        ImageSettings image = settings_.image;
        image.path = job.input.string();
        if (bands_ != "auto") return band_groups(num_bands(image), bands_ == "1" ? 1 : 3);
        const int64_t channels = source_facts(image).channels;
        if (channels == 1 || channels == 3) return {};
        return band_groups(channels, channels_of_weights());
    }

    /// 3 where there are weights for colour images.
    int64_t channels_of_weights() {
        try {
            return find_weights(settings_.network, settings_.weights, 3).channels();
        } catch (const UsageError&) {
            return find_weights(settings_.network, settings_.weights, 1).channels();
        }
    }

    Point plan_for(const DenoiseJob& job, const std::string& bands) {
        PointSettings settings = settings_;
        settings.image.path = job.input.string();
        settings.image.bands = bands;
        ImageSource source(settings.image);
        check_can_save(source.file()->info(), job.output);
        check_can_compress(compression_.value_or(Compression::none), job.output);
        // What auto is, is found once.
        if (!settings.image.range.empty()) settings.image.range = range_setting(source.map()->range());
        range_note_ = range_note(settings.image);
        const SampleRange range = source.map() == nullptr ? SampleRange{} : source.map()->range();
        settings.sigma = sigma_ ? sigma_of(*sigma_, range)
                         : settings.image.noise_sigma > 0
                             ? settings.image.noise_sigma
                             : std::max(kSmallestSigma, estimate_sigma(settings.image, range_note_));
        return make_plan({study_, {settings}, ""}, group_.topology, source_facts,
                         [&](const auto& point, int64_t channels) { return runner_.shape_of(point, channels); })
            .points.front();
    }

    /// The level that is not used is worth knowing where it was not asked for by a number.
    [[nodiscard]] std::string sigma_note(const Point& point) const {
        const bool is_found = !point.uses_sigma && !sigma_ && point.settings.image.noise_sigma == 0;
        return point.sigma_note + (is_found ? fmt::format(" (the image's noise is about {:.3g})", point.sigma) : "");
    }

    [[nodiscard]] std::string line_for(const DenoiseJob& job, const PointTrace& trace, const Summary& summary) const {
        if (trace.status != PointStatus::ok)
            return fmt::format("{}: {}: {}{}", input_text(job, trace.point), name_of(trace.status), trace.reason,
                               trace.status == PointStatus::oom ? "; take a smaller --patch or --batch" : "");
        if (trace.output_file.empty())
            return fmt::format("{}: the result is wrong and was not written to {}", input_text(job, trace.point),
                               job.output.string());
        const Point& point = trace.point;
        std::string line =
            fmt::format("{} -> {}: {}x{}, {}, {}halo {}, batch {}, {} rank(s): {:.2f} s, {:.3g} Mpx/s",
                        input_text(job, point), job.output.string(), point.source.extent.w, point.source.extent.h,
                        name_of(point.settings.network), samples_text(point), *point.halo, *point.batch,
                        point.num_ranks, summary.pipeline_s.value_or(0), summary.useful_mpx_per_s.value_or(0));
        if (trace.quality)
            line += fmt::format(", PSNR {:.2f} -> {:.2f} dB", trace.quality->psnr_noisy_db,
                                trace.quality->psnr_denoised_db);
        for (const std::string& note : {range_note_, sigma_note(point), seam_note(trace)})
            if (!note.empty()) line += "; note: " + note;
        if (!trace.lost_metadata.empty()) line += "\n  not kept: " + trace.lost_metadata;
        return line;
    }

    PointSettings settings_;
    std::optional<Compression> compression_;
    std::string bands_;
    std::optional<NoiseLevel> sigma_;
    const Group& group_;
    StudySettings study_;
    Runner runner_;
    std::vector<Summary> summaries_;
    std::string range_note_;  // of the file that was planned last
};

/// The lines of all groups, and one verdict on all files.
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
        (void)parse_sigma(arguments);
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

}  // namespace

void add_denoise_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<DenoiseArguments>();
    CLI::App* command = app.add_subcommand("denoise", "denoise images, keeping type, size, alpha and metadata");
    add_denoise_options(*command, *arguments);
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_denoise(*arguments, session); });
        };
    });
}

}  // namespace pb
