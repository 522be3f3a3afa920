#include "app/denoise/images.hpp"

#include "app/denoise/band_output.hpp"
#include "base/text.hpp"
#include "base/user_cache.hpp"
#include "config/text.hpp"
#include "engine/network_file.hpp"
#include "plan/plan.hpp"
#include "run/agreement.hpp"
#include "run/pixels/image_source.hpp"

#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pb::app {

namespace {

config::StudySettings study_settings(const DenoiseArguments& arguments) {
    config::StudySettings study;
    study.name = "denoise";
    study.bounds = false;
    study.device_sharing = arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
    return study;
}

std::string describe(const image::ImageFile& file, const std::string& path) {
    const image::ImageInfo& info = file.info();
    const std::string text = run::describe_source(path, {info.extent, info.channels, info.dtype});
    return file.num_pages() > 1 ? text + fmt::format(", {} pages", file.num_pages()) : text;
}

/// Fails all groups of bands where one failed: no file is written.
void mark_unwritten(std::vector<ImageLine>& groups) {
    const auto failed =
        std::ranges::find_if(groups, [](const ImageLine& each) { return each.status != record::PointStatus::ok; });
    if (failed == groups.end()) return;
    for (ImageLine& line : groups) {
        if (line.status != record::PointStatus::ok) continue;
        line = {.input = line.input,
                .output = line.output,
                .bands = line.bands,
                .status = failed->status,
                .reason = "not written, because another group of bands failed"};
    }
}

}  // namespace

void require_possible(const DenoiseArguments& arguments, const plan::Topology& topology) {
    config::PointSettings settings = settings_from(arguments);
    settings.image = {};
    settings.memory_limit_mib = 0;  // what fits depends on the image and on the weights
    if (settings.network.card) settings.image.channels = settings.network.card->channels;
    EngineKind engine{};
    try {
        engine =
            plan::make_plan({study_settings(arguments), {settings}, ""}, topology, {}).points.front().settings.engine;
    } catch (const plan::PointError& error) {
        throw UsageError(error.reason());
    }
    engine::require_installed(engine);
}

Denoise::Denoise(const DenoiseArguments& arguments, const Group& group, DenoiseProgress& progress, ImageReport report)
    : settings_(settings_from(arguments)),
      compression_(arguments.compression),
      bands_(arguments.bands),
      dry_run_(arguments.dry_run),
      pages_(parse_pages(arguments.pages)),
      sigma_(sigma_from(arguments)),
      group_(group),
      study_(study_settings(arguments)),
      runner_(group.ranks, group.topology, study_, group.blocks),
      progress_(progress),
      report_(std::move(report)) {
    constexpr double kCheckShare = 0.03;  // the other checks take about as much of small images
    runner_.report_to(&progress_);
    runner_.bound_searches(arguments.no_cache ? "" : cache_folder());
    if (arguments.verify.is_bounded) runner_.bound_verification(kCheckShare);
}

void Denoise::keep_engines() {
    if (settings_.memory_limit_mib == 0) runner_.keep_engines();
}

void Denoise::run(size_t index, const DenoiseJob& job, bool single) {
    const Image image{index, job, single};
    try {
        run::OpenFiles files;
        std::vector<std::string> groups;
        run::together(group_.ranks, [&] {
            settings_.image.path = job.input.string();
            settings_.image.clean = job.clean.string();
            files = run::open_pages(settings_.image, pages_);
            groups = find_band_groups(files.image->info(), bands_, settings_);
        });
        std::vector<std::filesystem::path> inputs{job.input};
        if (files.clean) inputs.push_back(job.clean);
        run::require_same_files(group_.ranks, describe(*files.image, settings_.image.path), inputs);
        if (dry_run_) return say_plan(image, files, groups);
        if (files.image->num_pages() > 1) return run_stack(image, files, groups);
        if (!groups.empty()) return run_bands(image, files, groups);
        run_image(image, files);
        if (single) runner_.finish_images();
    } catch (const run::PointFailed& error) {
        if (single) throw;
        fail(image, error.status(), error.what());
    } catch (const std::exception& error) {
        // All ranks of the group throw an AgreedError. After another error, ranks might wait for each other.
        const bool is_agreed = dynamic_cast<const run::AgreedError*>(&error) != nullptr;
        if (single || (!is_agreed && group_.ranks.size() > 1)) throw;
        fail(image, record::PointStatus::failed, error.what());
    }
}

void Denoise::finish() { runner_.find_interruption() ? runner_.drop_images() : runner_.finish_images(); }

void Denoise::fail(const Image& image, record::PointStatus status, const std::string& reason) {
    record::PointTrace trace;
    trace.status = status;
    trace.reason = reason;
    ImagePasses passes;
    const measure::Summary summary = passes.add(trace);
    report_(image.index, {line(image.job, trace, summary, {})}, passes);
}

ImageLine Denoise::line(const DenoiseJob& job, const record::PointTrace& trace, const measure::Summary& summary,
                        const RangeFit& fit) const {
    if (trace.output_file.empty()) return denoise_line(job, trace, summary, {});  // it has no notes
    return denoise_line(job, trace, summary, notes_on(trace.point, fit));
}

LineNotes Denoise::notes_on(const plan::Point& point, const RangeFit& fit) const {
    return {{{fit.note()}, sigma_note(point), halo_note(point)}, fit.is_beyond()};
}

/// The range of a stack: an automatic one is that of all pages. Only the root finds it, because the other ranks might
/// have to decode the file for it. Collective.
std::string Denoise::find_range(const run::OpenFiles& files, const std::string& bands) {
    config::ImageSettings image = settings_.image;
    image.bands = bands;
    std::string range = image.range;
    const bool searches = config::parse_range(range).kind == config::RangeChoice::Kind::automatic;
    run::together(group_.ranks, [&] {
        if (searches && group_.ranks.is_root()) range = run::range_setting(run::range_of_pages(image, files.image));
    });
    return group_.ranks.broadcast(range);
}

void Denoise::run_image(const Image& image, const run::OpenFiles& files) {
    Pass pass = plan_pass(image.job, files, "", settings_.image.range);
    progress_.expect(static_cast<double>(pass.source->extent().pixels()), 1);
    const auto done = [this, image, fit = pass.range](const run::ImageOutcome& outcome) {
        if (!outcome.user_error.empty() && image.single) throw run::AgreedError(outcome.user_error, ExitCode::usage);
        if (!outcome.user_error.empty()) return fail(image, record::PointStatus::failed, outcome.user_error);
        ImagePasses passes;
        const measure::Summary summary = passes.add(outcome.trace, outcome.images_in_pass);
        report_(image.index, {line(image.job, outcome.trace, summary, fit)}, passes);
    };
    runner_.add({.point = std::move(pass.point),
                 .files = {.image = image.job.output, .compression = compression_},
                 .source = std::move(pass.source),
                 .done = done});
}

/// Denoises one group of bands after the other and joins them on the root. Writes nothing unless all groups succeeded.
void Denoise::run_bands(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups) {
    std::optional<BandOutput> all;
    ImagePasses passes;
    std::vector<ImageLine> lines;
    bool complete = true;
    runner_.finish_images();
    for (const std::string& bands : groups) {
        const Pass pass = plan_pass(image.job, files, bands, settings_.image.range);
        progress_.expect(static_cast<double>(pass.source->extent().pixels()), std::ssize(groups));
        run::together(group_.ranks, [&] {
            if (!all && group_.ranks.is_root()) all.emplace(files.image);
        });
        const auto take = [&](const PixelView& denoised) { all.value().take(bands, denoised); };
        const run::PointFiles output{.image = image.job.output, .compression = compression_, .take = take};
        const record::PointTrace trace = runner_.run(pass.point, output, pass.source.get());
        complete = complete && !trace.output_file.empty();
        const measure::Summary summary = passes.add(trace);
        lines.push_back(line(image.job, trace, summary, pass.range));
    }
    progress_.begin(run::Activity::writing);
    run::together(group_.ranks, [&] {
        files.require_unchanged();
        if (complete && all) all->save(image.job.output, compression_);
    });
    if (!complete) mark_unwritten(lines);
    report_(image.index, std::move(lines), passes);
}

/// Plans a pass. Collective.
Denoise::Pass Denoise::plan_pass(const DenoiseJob& job, const run::OpenFiles& files, const std::string& bands,
                                 const std::string& range) {
    progress_.begin(run::Activity::reading);
    config::PointSettings settings = settings_;
    settings.image.bands = bands;
    settings.image.range = range;
    // The user's own settings: a range that was found is one of inverted samples.
    run::together(group_.ranks, [&] { run::check_given_samples(settings_.image, files); });
    Pass pass{.source = open_source(files, settings.image)};
    run::ImageSource& source = *pass.source;
    image::NoiseEstimate noise;
    run::together(group_.ranks, [&] {
        const auto check = job.has_folder || !dry_run_ ? image::check_can_save : image::check_can_hold;
        check(files.image->info(), job.output);
        if (files.image->info().has_alpha) image::check_can_hold_alpha(files.image->metadata(), job.output);
        if (!job.has_folder && dry_run_) require_can_make_folder(job.output.parent_path());
        image::check_can_compress(compression_.value_or(image::Compression::none), job.output);
        if (group_.ranks.is_root()) pass.range = fit_range(settings.image, source);
        noise = find_sigma(settings.image, source, pass.range);
    });
    settings.sigma = group_.ranks.broadcast(std::max(noise.sigma, network::kSmallestSigma));
    run::together(group_.ranks, [&] {
        try {
            pass.point = plan::make_plan(
                             {study_, {settings}, ""}, group_.topology, [&](const auto&) { return source.facts(); },
                             runner_.network_lookup())
                             .points.front();
        } catch (const plan::PointError& error) {
            throw UsageError(without_controls(job.input.string()) + ": " + error.reason());
        }
        if (group_.ranks.is_root()) require_noise_found(pass.point, source, pass.range);
        // Where the level has no effect, another note will take the place of this one.
        if (group_.ranks.is_root() && !pass.range.is_beyond() && pass.point.sigma_note.empty())
            pass.point.sigma_note = sigma_ ? level_note(settings.image, source, noise.sigma)
                                           : noise_note(settings.image, noise, pass.range);
    });
    return pass;
}

/// Opens the samples of `image` on each rank. The root finds an automatic range and broadcasts it, because the
/// other ranks might have to decode the file for it.
std::shared_ptr<run::ImageSource> Denoise::open_source(const run::OpenFiles& files, config::ImageSettings& image) {
    std::shared_ptr<run::ImageSource> source;
    const auto open = [&] { source = std::make_shared<run::ImageSource>(image, files); };
    const bool searches = config::parse_range(image.range).kind == config::RangeChoice::Kind::automatic;
    run::together(group_.ranks, [&] {
        if (!searches || group_.ranks.is_root()) open();
    });
    if (!searches) return source;
    image.range = group_.ranks.broadcast(source ? run::range_setting(source->map()->range()) : "");
    run::together(group_.ranks, [&] {
        if (!source) open();
    });
    return source;
}

/// Returns the noise level, which may be less than a network takes. Only the root estimates it, because other ranks
/// would have to decode the file; they return 0, as the root does for an image that is too small.
image::NoiseEstimate Denoise::find_sigma(const config::ImageSettings& image, run::ImageSource& source,
                                         const RangeFit& fit) const {
    const auto known = [](double sigma) { return image::NoiseEstimate{sigma, sigma}; };
    if (sigma_) return known(sigma_of(*sigma_, source.map() == nullptr ? image::SampleRange{} : source.map()->range()));
    if (image.noise_sigma > 0) return known(image.noise_sigma);
    if (!group_.ranks.is_root()) return {};
    if (!has_room_for_noise(source.extent())) return {};
    return estimate_sigma(image, source, fit);
}

/// Throws UsageError for an image that is too small to find its noise in, unless the level has no effect.
void Denoise::require_noise_found(plan::Point point, run::ImageSource& source, const RangeFit& fit) {
    if (!finds_sigma() || has_room_for_noise(source.extent())) return;
    runner_.settle_weights(point);
    if (point.uses_sigma) (void)estimate_sigma(point.settings.image, source, fit);  // says why it cannot be found
}

/// The point's note on the noise level. That it has no effect is said of the first image alone where the user gave
/// none.
LineNote Denoise::sigma_note(const plan::Point& point) const {
    LineNote note{point.sigma_note};
    if (point.uses_sigma) return note;
    if (!sigma_) note.subject = point.sigma_note;
    if (!note.text.empty() && finds_sigma() && has_room_for_noise(point.source.extent))
        note.text += fmt::format(" (the image's noise is about {:.3g})", point.sigma);
    return note;
}

}  // namespace pb::app
