#include "measure/summary.hpp"

#include "config/text.hpp"
#include "measure/roofline.hpp"
#include "measure/trace_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace pb::measure {

namespace {

constexpr double kMega = 1e6;

std::optional<double> positive(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

std::optional<double> median_of(const std::vector<double>& samples) {
    return samples.empty() ? std::nullopt : std::optional(median(samples));
}

void check_samples(const record::PointTrace& trace) {
    for (const auto& rank : trace.ranks)
        require(rank.wall_s.size() == trace.wall_s.size() && rank.stage_s.size() == trace.wall_s.size(),
                fmt::format("trace of point {}: rank {} does not have one sample for each of {} repetitions",
                            trace.point.index, rank.rank, trace.wall_s.size()));
}

void add_pipeline(const record::PointTrace& trace, Summary& summary) {
    const auto& wall_s = trace.wall_s;
    summary.pipeline_s = median(wall_s);
    if (const auto interval = median_interval(wall_s)) {
        summary.pipeline_low_s = interval->low;
        summary.pipeline_high_s = interval->high;
    }
    summary.pipeline_mean_s = mean(wall_s);
    if (wall_s.size() > 1) summary.pipeline_sd_s = standard_deviation(wall_s);
    summary.pipeline_min_s = *std::min_element(wall_s.begin(), wall_s.end());
    summary.pipeline_p90_s = percentile(wall_s, 90);
    summary.pipeline_p95_s = percentile(wall_s, 95);
    summary.pipeline_p99_s = percentile(wall_s, 99);
}

/// Adds the stop reason, outliers and drift of the repetitions.
void add_flags(const record::PointTrace& trace, Summary& summary) {
    summary.stop_reason = trace.stop_reason;
    if (summary.repetitions < kMinRepetitionsForInterval) return;
    summary.outlier_reps = outliers(trace.wall_s);
    summary.outliers = static_cast<double>(summary.outlier_reps.size());
    summary.drift = find_trend(trace.wall_s).drift;
}

void add_rates(const record::PointTrace& trace, Summary& summary) {
    const auto& point = trace.point;
    const auto& seconds = summary.pipeline_s;
    summary.patches_per_s = quotient(static_cast<double>(trace.num_patches), seconds);
    const auto image_pixels = static_cast<double>(point.source.extent.pixels());
    if (image_pixels > 0) summary.images_per_s = quotient(trace.useful_pixels / image_pixels, seconds);
    summary.useful_mpx_per_s = quotient(trace.useful_pixels / kMega, seconds);
    summary.processed_mpx_per_s = quotient(trace.processed_pixels / kMega, seconds);
    const double flop = flop_per_pixel(point);
    if (!summary.simulated && flop > 0)
        summary.tflops = quotient(flop * record::computed_pixels(trace) / 1e12, seconds);
}

/// Returns the forward time of one repetition: each rank's number of calls times its median call, by their arithmetic;
/// the slowest rank counts.
std::optional<double> seconds_of_calls(const record::PointTrace& trace, std::vector<double> record::RankTrace::*calls) {
    double slowest = 0;
    for (const auto& rank : trace.ranks) {
        if (rank.num_batches == 0) continue;
        if ((rank.*calls).empty()) return std::nullopt;
        slowest = std::max(slowest, static_cast<double>(rank.num_batches) * rank.work_per_call * median(rank.*calls));
    }
    return positive(slowest);
}

void add_forward(const record::PointTrace& trace, Summary& summary) {
    summary.forward_s = seconds_of_calls(trace, &record::RankTrace::forward_call_s);
    summary.round_trip_s = seconds_of_calls(trace, &record::RankTrace::round_trip_s);
    if (!summary.forward_s) return;
    summary.forward_patches_per_s = quotient(static_cast<double>(trace.num_patches), summary.forward_s);
    summary.efficiency = quotient(*summary.forward_s, summary.pipeline_s);
}

std::optional<double> stage_seconds(const record::PointTrace& trace, record::Stage stage) {
    std::vector<double> slowest(trace.wall_s.size(), 0.0);
    for (const auto& rank : trace.ranks)
        for (size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank.stage_s[i][stage]);
    const bool took_place = std::ranges::any_of(slowest, [](double s) { return s > 0; });
    return took_place ? std::optional(median(slowest)) : std::nullopt;
}

void add_stages(const record::PointTrace& trace, Summary& summary) {
    for (const auto& [stage, name] : enum_table<record::Stage>()) summary.stage_s[stage] = stage_seconds(trace, stage);
    summary.stage_s[record::Stage::read] = positive(trace.read_s);
    summary.stage_s[record::Stage::noise] = positive(trace.noise_s);
    summary.stage_s[record::Stage::write] = positive(trace.write_s);
    summary.job_s = trace.read_s + trace.noise_s + *summary.pipeline_s + trace.write_s;
}

void add_start(const record::PointTrace& trace, Summary& summary) {
    summary.load_s = positive(trace.load_s);
    summary.prepare_s = positive(trace.prepare_s);
    summary.first_pass_s = positive(trace.first_pass_s);
}

std::optional<double> sum(const std::vector<double>& samples) {
    if (samples.empty()) return std::nullopt;
    return mean(samples) * static_cast<double>(samples.size());
}

void add_cpu_time(const record::PointTrace& trace, Summary& summary) {
    std::vector<double> percents;
    double all_s = 0;
    for (const auto& rank : trace.ranks) {
        const auto cpu_s = sum(rank.cpu_s);
        all_s += cpu_s.value_or(0);
        const auto percent = cpu_s ? quotient(100 * *cpu_s, sum(trace.wall_s)) : std::nullopt;
        if (percent) percents.push_back(*percent);
    }
    if (!percents.empty()) summary.cpu_percent = mean(percents);
    const auto repetitions = static_cast<double>(trace.wall_s.size());
    if (all_s > 0) summary.cpu_per_patch_s = quotient(all_s, static_cast<double>(trace.num_patches) * repetitions);
    if (trace.repeated_s > 0) summary.repetition_s = trace.repeated_s / repetitions;
}

/// Includes ranks without work, because an uneven split costs their time.
void add_balance(Summary& summary) {
    std::vector<double> walls;
    for (const auto& rank : summary.ranks) {
        if (!rank.wall_s) continue;
        if (walls.empty() || *rank.wall_s > *std::max_element(walls.begin(), walls.end()))
            summary.slowest_rank = rank.rank;
        walls.push_back(*rank.wall_s);
    }
    if (!walls.empty() && mean(walls) > 0)
        summary.imbalance = *std::max_element(walls.begin(), walls.end()) / mean(walls);
}

std::vector<RankSummary> summarise_ranks(const record::PointTrace& trace, bool has_speed) {
    std::vector<RankSummary> ranks;
    for (const auto& traced : trace.ranks) {
        RankSummary rank{.rank = traced.rank, .num_patches = traced.num_patches};
        take_raw_values(traced, rank);
        if (has_speed) rank.wall_s = median_of(traced.wall_s);
        if (rank.num_patches > 0) rank.patches_per_s = quotient(static_cast<double>(rank.num_patches), rank.wall_s);
        ranks.push_back(rank);
    }
    return ranks;
}

void add_memory(const record::PointTrace& trace, Summary& summary) {
    // An absent optional compares as smaller than any number.
    for (const auto& rank : summary.ranks) {
        if (rank.allocated_peak_mib > summary.allocated_peak_mib) summary.allocated_peak_rank = rank.rank;
        summary.allocated_peak_mib = std::max(summary.allocated_peak_mib, rank.allocated_peak_mib);
        summary.reserved_peak_mib = std::max(summary.reserved_peak_mib, rank.reserved_peak_mib);
        summary.device_used_mib = std::max(summary.device_used_mib, rank.device_used_mib);
        summary.host_peak_mib = std::max(summary.host_peak_mib, rank.host_peak_mib);
    }
    for (const auto& rank : trace.ranks)
        summary.engine_peak_mib = std::max(summary.engine_peak_mib, mib(rank.memory.engine_peak));
    if (!trace.prediction) return;
    if (!summary.simulated) summary.predicted_peak_mib = positive(trace.prediction->peak_mib);
    summary.pixels_per_forward = positive(static_cast<double>(trace.prediction->pixels_per_forward));
}

void add_quality(const record::PointTrace& trace, Summary& summary) {
    summary.window_error = trace.verification.window_error;
    summary.fp64_error = trace.verification.fp64_error;
    summary.seam_error = trace.verification.seam_error;
    if (!trace.quality) return;
    summary.psnr_noisy_db = trace.quality->psnr_noisy_db;
    summary.psnr_denoised_db = trace.quality->psnr_denoised_db;
    summary.ssim_noisy = trace.quality->ssim_noisy;
    summary.ssim_denoised = trace.quality->ssim_denoised;
}

std::string image_text(const plan::Point& point) {
    const auto& image = point.settings.image;
    const auto& source = point.source;
    const std::string name = image.path.empty() ? "scene" : std::filesystem::path(image.path).filename().string();
    return fmt::format("{} {} x {} x {}", name, source.extent.h, source.extent.w, source.channels);
}

/// Returns the number of ranks, with placement and schedule if they are not the default.
std::string ranks_text(const plan::Point& point) {
    const auto& settings = point.settings;
    std::string text = std::to_string(point.num_ranks);
    if (settings.placement != config::Placement::compact) text += ", " + std::string(name_of(settings.placement));
    if (settings.schedule != config::Schedule::contiguous) text += ", " + std::string(name_of(settings.schedule));
    return text;
}

std::string weights_text(const record::PointTrace& trace) {
    if (plan::is_simulated(trace.point)) return "none (simulated)";
    return trace.weights_source.empty() ? trace.point.settings.weights : trace.weights_source;
}

std::vector<std::pair<std::string, std::string>> context_of(const record::PointTrace& trace) {
    const auto& point = trace.point;
    const auto& settings = point.settings;
    const double noise_sigma = settings.image.noise_sigma;
    return {{"image", image_text(point)},
            {"noise", noise_sigma > 0 ? "sigma " + config::format_setting(noise_sigma) : "none added"},
            {"weights", weights_text(trace)},
            {"device", std::string(name_of(point.device))},
            {"ranks", ranks_text(point)}};
}

}  // namespace

Summary summarise(const record::PointTrace& trace) {
    Summary summary;
    summary.index = trace.point.index;
    summary.key = trace.point.key;
    summary.label = plan::label_of(trace.point);
    summary.simulated = plan::is_simulated(trace.point);
    summary.context = context_of(trace);
    summary.status = trace.status;
    summary.reduction = trace.reduction;
    summary.verification = trace.verification.outcome;
    summary.repetitions = static_cast<int64_t>(trace.wall_s.size());
    const bool has_speed = trace.status == record::PointStatus::ok && !trace.wall_s.empty() &&
                           trace.verification.outcome != record::Verification::Outcome::failed;
    summary.ranks = summarise_ranks(trace, has_speed);
    if (has_speed) {
        check_samples(trace);
        add_pipeline(trace, summary);
        add_flags(trace, summary);
        add_rates(trace, summary);
        add_forward(trace, summary);
        add_calls(trace, summary);
        add_stages(trace, summary);
        add_start(trace, summary);
        add_cpu_time(trace, summary);
        add_telemetry(trace, summary);
        add_balance(summary);
        add_bounds(trace, summary);
        if (!summary.simulated) summary.bottleneck = find_bottleneck(summary, trace);
    }
    add_memory(trace, summary);
    add_quality(trace, summary);
    rate_validity(trace, summary);
    return summary;
}

std::string unique_label(const Summary& summary, int64_t num_same) {
    return num_same > 1 ? fmt::format("{}#{}", summary.label, summary.index) : summary.label;
}

}  // namespace pb::measure
