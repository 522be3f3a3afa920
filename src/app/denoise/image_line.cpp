#include "app/denoise/image_line.hpp"

#include "app/denoise/noise_level.hpp"
#include "base/text.hpp"
#include "config/text.hpp"
#include "measure/study/recommendation.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "record/json_writer.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

namespace pb::app {

namespace {

/// "page 3 of in.tif, bands 0-2".
std::string input_text(const ImageLine& line) {
    const std::string page = line.page ? fmt::format("page {} of ", *line.page) : "";
    const bool is_stack = line.pages > 1 && line.planned.passes == 0;
    const std::string pages = is_stack ? fmt::format(", {} pages", line.pages) : "";
    const char* const noun = line.bands.find('-') == std::string::npos ? ", band " : ", bands ";
    return page + without_controls(line.input) + pages + (line.bands.empty() ? "" : noun + line.bands);
}

/// Returns range and noise level, each followed by ", ". Names only those that were used.
std::string samples_text(const ImageLine& line) {
    const bool has_range = line.low && line.high;
    const image::SampleRange range{line.low.value_or(0), line.high.value_or(1)};
    if (!line.sigma) return has_range ? range_text(range) + ", " : "";
    return sigma_text(*line.sigma, has_range ? &range : nullptr) + ", ";
}

/// What a line says of an image and how it goes through the network.
std::string head_of(const ImageLine& line) {
    return fmt::format("{} -> {}: {}x{} px (height x width), {}, {}, engine {}{}, {}halo {}, batch {}, {}",
                       input_text(line), without_controls(line.output), line.height, line.width,
                       counted(line.channels, "channel"), line.network, line.engine,
                       line.dtype == Precision::fp32 ? "" : fmt::format(" in {}", name_of(line.dtype)),
                       samples_text(line), line.halo, line.batch ? std::to_string(*line.batch) : line.open_batch,
                       counted(line.ranks, "rank"));
}

/// Fills in what `head_of` says.
ImageLine planned_part(const DenoiseJob& job, const plan::Point& point) {
    ImageLine line{.input = job.input.string(), .output = job.output.string(), .bands = point.settings.image.bands};
    line.height = point.source.extent.h;
    line.width = point.source.extent.w;
    line.channels = point.source.channels;
    line.network = point.settings.network.name();
    line.engine = config::format_setting(point.settings.engine);
    line.dtype = point.settings.dtype;
    if (const auto range = fixed_range(point.settings.image)) {
        line.low = range->low;
        line.high = range->high;
    }
    if (point.uses_sigma) line.sigma = point.sigma;
    line.halo = plan::halo_text(point);
    line.batch = point.batch;
    if (!point.batch) line.open_batch = config::format_setting(point.settings.batch);
    line.ranks = point.num_ranks;
    return line;
}

/// Those of the line, of the point, and `more`.
std::vector<LineNote> notes_of(const plan::Point& point, const LineNotes& notes, const std::vector<LineNote>& more) {
    std::vector<LineNote> all = notes.notes;
    for (const std::string& note : {point.weights_note, point.channel_note, point.edge_note, point.tiles_note})
        all.push_back({note});
    all.insert(all.end(), more.begin(), more.end());
    std::erase_if(all, [](const LineNote& note) { return note.text.empty(); });
    return all;
}

/// Errors of several ranks are several lines.
std::string in_one_line(std::string reason) {
    for (size_t end = 0; (end = reason.find('\n', end)) != std::string::npos;) reason.replace(end, 1, "; ");
    return reason;
}

/// The reason of a failure without the name of the input, with which the line begins.
std::string without_name(const std::string& reason, const DenoiseJob& job) {
    const std::string name = job.input.string() + ": ";
    const size_t at = reason.find(name);
    if (at == std::string::npos) return reason;
    constexpr std::string_view kOf = " of ";  // "page 1 of in.tif: ..."
    const std::string before = reason.substr(0, at), after = reason.substr(at + name.size());
    if (before.ends_with(kOf)) return before.substr(0, at - kOf.size()) + ": " + after;
    return before.empty() || before.ends_with(": ") ? before + after : reason;
}

/// Empty unless the PSNR fell.
std::string worse_note(const record::Quality& quality, bool uses_sigma) {
    constexpr double kShownDb = 0.01;
    if (!(quality.psnr_noisy_db - quality.psnr_denoised_db >= kShownDb)) return "";
    return fmt::format("denoising made the image worse: PSNR fell from {:.2f} to {:.2f} dB; check {}",
                       quality.psnr_noisy_db, quality.psnr_denoised_db,
                       uses_sigma ? "--sigma and --range" : "--range, and the noise that the network was trained for");
}

/// What there is to say about the comparison with the clean image.
std::string quality_note(const record::PointTrace& trace, bool is_beyond) {
    std::string doubt = measure::clean_image_note(trace);
    const bool has_clean = trace.quality || !doubt.empty() || trace.point.settings.image.noise_sigma > 0;
    if (!has_clean) return "";
    if (is_beyond) return "no PSNR: it is computed in [0, 1], to which these samples would be clipped; give --range";
    if (!doubt.empty()) return doubt;
    return trace.quality ? worse_note(*trace.quality, trace.point.uses_sigma)
                         : "no PSNR: no sample has data, or most are far outside of [0, 1] (--range)";
}

/// What to do where an engine ran out of memory; what else did says so itself.
std::string memory_advice(const record::PointTrace& trace) {
    if (trace.reason.find("engine") == std::string::npos) return "";
    const bool is_free = trace.point.settings.halo.kind == config::HaloSetting::Kind::automatic;
    const std::string smaller =
        fmt::format("{}take a smaller --patch or --batch", is_free ? "" : "leave out --halo or ");
    const auto needs = plan::predict(trace.point);
    if (!needs || needs->peak_mib == 0) return "; " + smaller;
    return fmt::format("; a rank is predicted to take about {:.0f} MiB: allow more, or {}", std::ceil(needs->peak_mib),
                       smaller);
}

/// Orders passes by what they mean for their image.
bool is_better(const measure::Summary& a, const measure::Summary& b) {
    const auto badness = [](const measure::Summary& pass) {
        return std::tuple(pass.verification == record::Verification::Outcome::failed,
                          pass.status != record::PointStatus::ok, pass.validity);
    };
    return badness(a) < badness(b);
}

}  // namespace

std::string ImageLine::text(std::set<std::string>& said) const {
    if (height == 0) return fmt::format("{}: {}: {}", input_text(*this), name_of(status), in_one_line(reason));
    std::string line = head_of(*this);
    if (planned.passes > 0) line += "; " + planned.text();
    if (pipeline_s) line += fmt::format(": {:.2f} s, {:.3g} Mpx/s", *pipeline_s, useful_mpx_per_s.value_or(0));
    if (psnr_noisy_db && psnr_denoised_db)
        line += fmt::format(", PSNR {:.2f} -> {:.2f} dB", *psnr_noisy_db, *psnr_denoised_db);
    for (const auto& [note, subject] : notes)
        if (subject.empty() || said.insert(subject).second) line += "; note: " + note;
    if (planned.passes > 0 && pages > 1) line += fmt::format("; of {} pages, each as the first one", pages);
    if (!not_kept.empty()) line += "\n  not kept: " + not_kept;
    if (status != record::PointStatus::ok) line += "; wrong, remove it: " + reason;
    return line;
}

std::string ImageLine::json(record::Verification::Outcome verification) const {
    record::Json object{{"type", "image"}};
    object.update(record::json_from(*this));
    if (height == 0) object["dtype"] = nullptr;
    if (planned.passes == 0) object["verification"] = name_of(verification);
    return report::line_of(object);
}

ImageLine denoise_line(const DenoiseJob& job, const record::PointTrace& trace, const measure::Summary& summary,
                       const LineNotes& notes) {
    const plan::Point& point = trace.point;
    ImageLine line{.input = job.input.string(), .output = job.output.string(), .bands = point.settings.image.bands};
    line.status = trace.status;
    if (trace.status != record::PointStatus::ok) {
        line.reason = without_name(trace.reason, job);
        if (trace.status == record::PointStatus::oom) line.reason += memory_advice(trace);
        return line;
    }
    if (trace.output_file.empty()) {
        line.status = record::PointStatus::failed;
        line.reason = "the result is wrong and was not written to " + without_controls(job.output.string());
        return line;
    }
    line = planned_part(job, point);
    line.pipeline_s = summary.pipeline_s.value_or(0);
    line.useful_mpx_per_s = summary.useful_mpx_per_s.value_or(0);
    if (trace.quality && !notes.is_beyond) {
        line.psnr_noisy_db = trace.quality->psnr_noisy_db;
        line.psnr_denoised_db = trace.quality->psnr_denoised_db;
    }
    line.notes = notes_of(point, notes,
                          {{seam_note(trace)},
                           {quality_note(trace, notes.is_beyond)},
                           {notes.is_beyond ? "" : measure::change_note(trace)}});
    line.not_kept = trace.lost_metadata;
    return line;
}

ImageLine planned_line(const DenoiseJob& job, const plan::Point& point, const PlannedNeeds& needs,
                       const LineNotes& notes) {
    ImageLine line = planned_part(job, point);
    line.planned = needs;
    line.notes = notes_of(point, notes, {});
    return line;
}

LineNote halo_note(const plan::Point& point) {
    constexpr double kLittle = 1.2;
    if (point.halo_note.empty()) return {};
    const bool is_exact = plan::is_in_bands(point) || point.halo.value_or(0) >= point.facts().exact_halo;
    return is_exact && plan::computed_per_useful(point) <= kLittle
               ? LineNote{}
               : LineNote{point.halo_note, "halo " + plan::halo_text(point)};
}

std::string seam_note(const record::PointTrace& trace) {
    const record::Verification& verification = trace.verification;
    const bool is_bounded = trace.point.facts().is_bounded;
    const auto error = measure::visible_seams(trace);
    const std::string places = counted(verification.seam_map.size(), "place");
    if (!error && (is_bounded || verification.seam_against_whole_image || !verification.seam_error)) return "";
    if (!error)
        return fmt::format(
            "tiles were compared with larger windows at {} only; results of this network may depend on the whole "
            "image, "
            "and differ from those for it",
            places);
    const std::string where =
        verification.seam_against_whole_image
            ? "beside the whole image"
            : fmt::format("at {} looked at{}", places,
                          is_bounded ? "" : ", beside larger windows; beside the whole image it may be far more");
    return fmt::format("seams show: up to {:.2g} of the range {}, with a halo of {} px; a larger one shows less, {}",
                       *error, where, *trace.point.halo,
                       is_bounded ? "that of --halo exact none" : "none is exact for this network");
}

measure::Summary ImagePasses::add(const record::PointTrace& trace, int64_t together) {
    using Outcome = record::Verification::Outcome;
    measure::Summary pass = measure::summarise(trace);
    if (trace.verification.outcome != Outcome::off)
        checks += {1, trace.verification.windows_checked > 0 ? 1 : 0, trace.verification.windows_checked};
    images_in_pass = std::max(images_in_pass, together);
    network_sha256 = trace.network_sha256;
    is_written = is_written && pass.status == record::PointStatus::ok && pass.verification != Outcome::failed;
    is_interrupted = is_interrupted || pass.status == record::PointStatus::interrupted;
    if (count++ == 0 || is_better(worst, pass)) worst = pass;
    return pass;
}

}  // namespace pb::app
