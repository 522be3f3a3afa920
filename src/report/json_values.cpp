#include "report/json_values.hpp"

#include "report/drawings_json.hpp"
#include "report/json_number.hpp"
#include "report/metrics.hpp"
#include "report/telemetry_json.hpp"

#include <utility>

namespace pb {

namespace {

template <class Integer>
Json integer(const std::optional<Integer>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

Json numbers(const std::vector<double>& values) {
    Json all = Json::array();
    for (const double value : values) all.push_back(number(value));
    return all;
}

Json point_json(const Point& point) {
    Json all = settings_json(point.settings);
    all["settled"] = {{"device", name_of(point.device)},
                      {"num_ranks", point.num_ranks},
                      {"halo_px", integer(point.halo)},
                      {"batch", integer(point.batch)},
                      {"sigma", point.uses_sigma ? number(point.sigma) : Json(nullptr)},
                      {"image_height_px", point.source.extent.h},
                      {"image_width_px", point.source.extent.w},
                      {"image_channels", point.source.channels}};
    if (point.relative) all["settled"]["network"] = to_text(*point.relative);
    return all;
}

/// Samples of the stages that took place on this rank, by name.
Json stages_json(const RankTrace& rank) {
    Json all = Json::object();
    for (size_t stage = 0; stage < kNumStages; ++stage) {
        std::vector<double> samples;
        bool took_place = false;
        for (const auto& repetition : rank.stage_s) {
            samples.push_back(repetition[stage]);
            took_place = took_place || repetition[stage] != 0;
        }
        if (took_place) all[std::string(name_of(static_cast<Stage>(stage)))] = numbers(samples);
    }
    return all;
}

Json rank_json(const RankTrace& rank) {
    return {{"rank", rank.rank},
            {"num_windows", rank.num_windows},
            {"num_patches", rank.num_patches},
            {"num_batches", rank.num_batches},
            {"wall_s", numbers(rank.wall_s)},
            {"stage_s", stages_json(rank)},
            {"forward_call_s", numbers(rank.forward_call_s)},
            {"cpu_s", numbers(rank.cpu_s)},
            {"allocations", rank.allocations},
            {"timeline", timeline_json(rank.timeline)}};
}

/// A stage that happens once: null when it did not.
Json once(double seconds) { return seconds != 0 ? number(seconds) : Json(nullptr); }

Json samples_json(const PointTrace& trace) {
    Json ranks = Json::array();
    for (const auto& rank : trace.ranks) ranks.push_back(rank_json(rank));
    return {{"wall_s", numbers(trace.wall_s)}, {"repeated_s", once(trace.repeated_s)}, {"read_s", once(trace.read_s)},
            {"noise_s", once(trace.noise_s)},  {"write_s", once(trace.write_s)},       {"ranks", ranks}};
}

Json memory_json(const Summary& summary) {
    Json ranks = Json::array();
    for (const auto& rank : summary.ranks)
        ranks.push_back(Json{{"rank", rank.rank},
                             {"allocated_peak_mib", number(rank.allocated_peak_mib)},
                             {"reserved_peak_mib", number(rank.reserved_peak_mib)},
                             {"device_used_mib", number(rank.device_used_mib)},
                             {"host_peak_mib", number(rank.host_peak_mib)}});
    return {{"ranks", ranks}};
}

Json prediction_json(const std::optional<Prediction>& prediction) {
    if (!prediction) return nullptr;
    return {{"pixels_per_forward", prediction->pixels_per_forward},
            {"peak_mib", number(prediction->peak_mib)},
            {"flop", number(prediction->flop)},
            {"flop_busiest_rank", number(prediction->flop_busiest_rank)}};
}

const char* outcome_name(Verification::Outcome outcome) {
    if (outcome == Verification::Outcome::passed) return "passed";
    return outcome == Verification::Outcome::failed ? "failed" : "off";
}

Json verification_json(const Verification& verification) {
    Json all{{"outcome", outcome_name(verification.outcome)}, {"reasons", verification.reasons}};
    const bool ran = verification.outcome != Verification::Outcome::off;
    const auto if_ran = [&](Json value) { return ran ? std::move(value) : Json(nullptr); };
    all["pixels_unwritten"] = if_ran(verification.pixels_unwritten);
    all["pixels_not_finite"] = if_ran(verification.pixels_not_finite);
    all["output_rounding"] = if_ran(number(verification.output_rounding));
    all["windows_checked"] = if_ran(verification.windows_checked);
    all["window_error"] = number(verification.window_error);
    all["window_tolerance"] = if_ran(number(verification.window_tolerance));
    all["seam_error"] = number(verification.seam_error);
    all["seam_tolerance"] = if_ran(number(verification.seam_tolerance));
    all["seam_against_whole_image"] = if_ran(verification.seam_against_whole_image);
    all["seam_decides"] = if_ran(verification.seam_decides);
    all["seam_map"] = seam_map_json(verification.seam_map);
    return all;
}

Json quality_json(const std::optional<Quality>& quality) {
    if (!quality) return nullptr;
    return {{"psnr_noisy_db", number(quality->psnr_noisy_db)},
            {"psnr_denoised_db", number(quality->psnr_denoised_db)},
            {"ssim_noisy", number(quality->ssim_noisy)},
            {"ssim_denoised", number(quality->ssim_denoised)}};
}

/// Null where nothing was repeated.
Json stop_reason(const Summary& summary) {
    return summary.stop_reason == StopReason::none ? Json(nullptr) : Json(name_of(summary.stop_reason));
}

Json context_json(const Summary& summary) {
    Json all = Json::object();
    for (const auto& [name, value] : summary.context) all[name] = value;
    return all;
}

Json rank_rates_json(const Summary& summary) {
    Json all = Json::array();
    for (const auto& rank : summary.ranks)
        all.push_back(Json{{"rank", rank.rank},
                           {"num_patches", rank.num_patches},
                           {"patches_per_s", number(rank.patches_per_s)},
                           {"wall_s", number(rank.wall_s)}});
    return all;
}

Json bottleneck_json(const std::optional<Bottleneck>& bottleneck) {
    if (!bottleneck) return nullptr;
    Json losses = Json::array();
    for (const auto& [limit, share] : bottleneck->losses)
        losses.push_back(Json{{"class", name_of(limit)}, {"share", number(share)}});
    return {{"class", name_of(bottleneck->limit)},
            {"share", number(bottleneck->share)},
            {"evidence", bottleneck->evidence},
            {"advice", bottleneck->advice},
            {"losses", losses}};
}

Json summary_json(const Summary& summary) {
    Json all{{"simulated", summary.simulated},
             {"validity", name_of(summary.validity)},
             {"reasons", summary.reasons},
             {"notes", summary.notes},
             {"stop_reason", stop_reason(summary)},
             {"outlier_reps", summary.outlier_reps},
             {"slowest_rank", integer(summary.slowest_rank)},
             {"allocated_peak_rank", integer(summary.allocated_peak_rank)},
             {"context", context_json(summary)},
             {"bottleneck", bottleneck_json(summary.bottleneck)},
             {"ranks", rank_rates_json(summary)}};
    for (const auto& metric : metrics()) all[metric.key] = number(metric.value(summary));
    return all;
}

/// Null where nothing had to be exchanged.
Json exchange_json(const PointTrace& trace) {
    if (!trace.exchange) return nullptr;
    return {{"carrier", trace.exchange->carrier},
            {"bytes", trace.exchange->bytes},
            {"link_bytes_per_s", number(trace.exchange->link_bytes_per_s)},
            {"link_latency_s", number(trace.exchange->link_latency_s)}};
}

Json work_json(const PointTrace& trace) {
    const auto path = path_of(trace.point);  // how the image goes through the network; null where it cannot
    return {{"path", path ? Json(name_of(*path)) : Json(nullptr)},
            {"num_patches", trace.num_patches},
            {"sample_type", name_of(trace.sample_type)},
            {"useful_pixels", number(trace.useful_pixels)},
            {"processed_pixels", number(trace.processed_pixels)}};
}

Json topology_json(const Topology& topology) {
    Json all = Json::array();
    for (const auto& place : topology.ranks)
        all.push_back(
            Json{{"rank", place.rank},
                 {"host", place.host},
                 {"node", place.node},
                 {"local_rank", place.local_rank},
                 {"device", name_of(place.device.kind)},
                 {"device_index", place.device.index},
                 {"device_name", text(place.device_name)},
                 {"device_uuid", text(place.device_uuid)},
                 {"pci_bus_id", text(place.pci_bus_id)},
                 {"affinity", text(place.affinity)},
                 {"num_cores", place.num_cores},
                 {"threads", place.threads},
                 {"memory_mib",
                  place.memory_bytes > 0 ? number(static_cast<double>(place.memory_bytes) / kMiB) : Json(nullptr)}});
    return all;
}

}  // namespace

Json json_of(const Environment& environment) {
    Json libraries = Json::array(), variables = Json::object();
    for (const auto& library : environment.libraries)
        libraries.push_back(
            Json{{"name", library.name}, {"header", text(library.header)}, {"loaded", text(library.loaded)}});
    for (const auto& [name, value] : environment.variables) variables[name] = value;
    return {{"started_at", environment.started_at},
            {"command_line", environment.command_line},
            {"version", environment.version},
            {"git_sha", environment.git_sha},
            {"git_dirty", environment.git_dirty},
            {"compiler", environment.compiler},
            {"build_type", environment.build_type},
            {"libraries", libraries},
            {"variables", variables},
            {"host_processor", text(environment.host_processor)},
            {"ranks", topology_json(environment.topology)}};
}

Json json_of(const PointTrace& trace, const Summary& summary) {
    return {{"type", "point"},
            {"key", summary.key},
            {"index", summary.index},
            {"label", summary.label},
            {"point", point_json(trace.point)},
            {"status", name_of(trace.status)},
            {"reason", text(trace.reason)},
            {"work", work_json(trace)},
            {"prediction", prediction_json(trace.prediction)},
            {"reduction", text(trace.reduction)},
            {"shared_device", trace.shared_device},
            {"binding", text(trace.binding)},
            {"weights",
             {{"source", text(trace.weights_source)},
              {"layout", text(trace.weights_layout)},
              {"sha256", text(trace.weights_sha256)}}},
            {"image_sha256", text(trace.image_sha256)},
            {"measurements", num_measurements(trace)},
            {"discarded", discarded_json(trace)},
            {"output_file", text(trace.output_file)},
            {"samples", samples_json(trace)},
            {"memory", memory_json(summary)},
            {"verification", verification_json(trace.verification)},
            {"quality", quality_json(trace.quality)},
            {"preview", preview_json(trace.preview)},
            {"batch_search", trace.batch_search ? json_of(*trace.batch_search) : Json(nullptr)},
            {"telemetry", telemetry_json(trace)},
            {"bounds", bounds_json(trace)},
            {"exchange", exchange_json(trace)},
            {"summary", summary_json(summary)}};
}

Json json_of(const Verdict& verdict) {
    return {{"verdict", name_of(verdict.validity)},
            {"reasons", verdict.reasons},
            {"exit_code", static_cast<int>(verdict.exit_code)}};
}

}  // namespace pb
