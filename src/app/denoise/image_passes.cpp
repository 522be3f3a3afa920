#include "app/denoise/image_passes.hpp"

#include "app/denoise/noise_level.hpp"
#include "base/text.hpp"
#include "config/text.hpp"
#include "measure/study/recommendation.hpp"
#include "plan/prediction.hpp"
#include "plan/slabs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <tuple>

namespace pb::app {

namespace {

std::string input_text(const DenoiseJob& job, const plan::Point& point) {
    const std::string& bands = point.settings.image.bands;
    return without_controls(job.input.string()) +
           (bands.empty() ? "" : (bands.find('-') == std::string::npos ? ", band " : ", bands ") + bands);
}

/// Returns range and noise level, each followed by ", ". Names only those that were used.
std::string samples_text(const plan::Point& point) {
    const auto range = fixed_range(point.settings.image);
    if (!point.uses_sigma) return range ? range_text(*range) + ", " : "";
    return sigma_text(point.sigma, range ? &*range : nullptr) + ", ";
}

/// What a line says of an image and how it goes through the network.
std::string head_of(const DenoiseJob& job, const plan::Point& point) {
    const Precision dtype = point.settings.dtype;
    const std::string batch = point.batch ? std::to_string(*point.batch) : config::format_setting(point.settings.batch);
    return fmt::format("{} -> {}: {}x{} px (height x width), {}, {}, engine {}{}, {}halo {}, batch {}, {}",
                       input_text(job, point), without_controls(job.output.string()), point.source.extent.h,
                       point.source.extent.w, counted(point.source.channels, "channel"), point.settings.network.name(),
                       config::format_setting(point.settings.engine),
                       dtype == Precision::fp32 ? "" : fmt::format(" in {}", name_of(dtype)), samples_text(point),
                       plan::halo_text(point), batch, counted(point.num_ranks, "rank"));
}

/// "; note: .." for each: those of the line, of the point, and `more`.
std::string notes_text(const plan::Point& point, const LineNotes& notes, const std::vector<std::string>& more) {
    std::vector<std::string> all = notes.texts;
    all.insert(all.end(), {point.weights_note, point.channel_note, point.edge_note, point.tiles_note});
    all.insert(all.end(), more.begin(), more.end());
    std::string text;
    for (const std::string& note : all)
        if (!note.empty()) text += "; note: " + note;
    return text;
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
    const std::string smaller = "take a smaller --patch or --batch";
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

std::string denoise_line(const DenoiseJob& job, const record::PointTrace& trace, const measure::Summary& summary,
                         const LineNotes& notes) {
    const plan::Point& point = trace.point;
    if (trace.status != record::PointStatus::ok)
        return fmt::format("{}: {}: {}{}", input_text(job, point), name_of(trace.status),
                           in_one_line(without_name(trace.reason, job)),
                           trace.status == record::PointStatus::oom ? memory_advice(trace) : "");
    if (trace.output_file.empty())
        return fmt::format("{}: the result is wrong and was not written to {}", input_text(job, point),
                           without_controls(job.output.string()));
    std::string line = head_of(job, point) + fmt::format(": {:.2f} s, {:.3g} Mpx/s", summary.pipeline_s.value_or(0),
                                                         summary.useful_mpx_per_s.value_or(0));
    if (trace.quality && !notes.is_beyond)
        line +=
            fmt::format(", PSNR {:.2f} -> {:.2f} dB", trace.quality->psnr_noisy_db, trace.quality->psnr_denoised_db);
    line += notes_text(point, notes, {seam_note(trace), quality_note(trace, notes.is_beyond)});
    if (!trace.lost_metadata.empty()) line += "\n  not kept: " + trace.lost_metadata;
    return line;
}

std::string planned_line(const DenoiseJob& job, const plan::Point& point, const PlannedNeeds& needs,
                         const LineNotes& notes) {
    return head_of(job, point) + "; " + needs.text() + notes_text(point, notes, {});
}

std::string halo_note(const plan::Point& point) {
    constexpr double kLittle = 1.2;
    if (point.halo_note.empty()) return "";
    const bool is_exact = plan::is_in_bands(point) || point.halo.value_or(0) >= point.facts().exact_halo;
    return is_exact && plan::computed_per_useful(point) <= kLittle ? "" : point.halo_note;
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

}  // namespace pb::app
