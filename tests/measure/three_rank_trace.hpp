// A trace with three ranks and six repetitions, whose figures can be checked by hand.
#pragma once

#include "record/point.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace pb {

inline constexpr int64_t kTraceRanks = 3;
inline constexpr size_t kTraceRepetitions = 6;

// No sample lies in the middle of the others, so the mean differs from the median.

/// Returns the wall seconds of a rank in each repetition. The slowest rank is 0, 1, 2, 0, 1, 2 in turn.
inline std::vector<double> wall_of_rank(int rank) {
    const std::vector<double> fast{1.3, 1.1, 1.2, 1.0, 1.4, 1.5};
    std::vector<double> wall_s = fast;
    for (size_t i = 0; i < wall_s.size(); ++i)
        if (i % 3 == static_cast<size_t>(rank)) wall_s[i] += i + 1 == kTraceRepetitions ? 1.2 : 1;
    return wall_s;
}

/// Ranks have calls of 0.4, 0.5 and 0.6 s; 2, 2 and 1 batches; 8, 8 and 4 patches; 100, 300 and 200 MiB allocated.
/// Stages take 1.5 times as long in the last repetition. Processes use the CPU for 0.8, 0.9 and 0.95 of the time.
inline record::RankTrace traced_rank(int rank) {
    record::RankTrace trace;
    trace.rank = rank;
    trace.host = "node" + std::to_string(rank / 2);
    trace.num_patches = trace.num_windows = rank == 2 ? 4 : 8;
    trace.num_batches = rank == 2 ? 1 : 2;
    trace.wall_s = wall_of_rank(rank);
    for (size_t i = 0; i < kTraceRepetitions; ++i) {
        record::StageSeconds stages{};
        const double factor = i + 1 == kTraceRepetitions ? 1.5 : 1;
        stages[static_cast<size_t>(record::Stage::gather)] = factor * 0.01 * (rank + 1);
        stages[static_cast<size_t>(record::Stage::forward)] = factor * (0.8 + 0.1 * rank);
        trace.stage_s.push_back(stages);
        constexpr std::array kBusy{0.8, 0.9, 0.95};
        trace.cpu_s.push_back(trace.wall_s[i] * kBusy.at(static_cast<size_t>(rank)));
    }
    const double call_s = 0.4 + 0.1 * rank;
    trace.forward_call_s = {call_s, call_s * 3, call_s * 0.5};
    const int64_t mib = int64_t{1} << 20;
    trace.memory = {.allocated_peak = (rank == 1 ? 300 : 100 + 50 * rank) * mib,
                    .reserved_peak = 400 * mib,
                    .device_used = 0,
                    .host_peak = (1000 + rank) * mib};
    trace.timeline = {
        .spans = {{record::Stage::gather, 0, 0.001, 0.01}, {record::Stage::forward, 0, 0.01, 0.8 + 0.1 * rank}},
        .num_dropped = 3,
        .clock_error_s = rank == 2 ? 2.5e-6 : 0,
        .of = record::TimelineOf::warm_up};
    return trace;
}

inline plan::Point traced_point() {
    plan::Point point;
    point.index = 4;
    point.key = "0123456789abcdef";
    point.settings.network = network::kind_of<network::DncnnShape>();
    point.settings.layout = Layout::channels_last;  // as the plan resolves it
    point.settings.patch = 256;
    point.settings.image.path = "photos/retina, \"left\".png";
    point.source = {.extent = {1000, 1250}, .channels = 3};
    point.num_ranks = kTraceRanks;
    point.halo = 20;
    point.batch = 4;
    point.sigma = 0.1;
    return point;
}

/// Makes 20 patches, 1.25 Mpx of image and 2 Mpx processed. Wall times are the maxima over ranks.
inline record::PointTrace three_rank_trace() {
    record::PointTrace trace;
    trace.point = traced_point();
    trace.prediction =
        plan::Prediction{.pixels_per_forward = 350464, .peak_mib = 290, .flop = 2e12, .flop_busiest_rank = 8e11};
    trace.reduction = "MPI";
    for (int rank = 0; rank < kTraceRanks; ++rank) trace.ranks.push_back(traced_rank(rank));
    for (size_t i = 0; i < kTraceRepetitions; ++i) {
        double slowest = 0;
        for (const auto& rank : trace.ranks) slowest = std::max(slowest, rank.wall_s[i]);
        trace.wall_s.push_back(slowest);
    }
    trace.read_s = 0.25;
    trace.noise_s = 0.5;
    trace.verification.outcome = record::Verification::Outcome::passed;
    trace.verification.windows_checked = 4;
    trace.verification.window_error = 1e-6;
    trace.verification.window_tolerance = 1e-4;
    trace.verification.fp64_error = 7.5e-7;
    trace.verification.seam_error = 2.5e-7;
    trace.verification.seam_map = {{{8, 16, {4, 10}}, 8, {1e-8, 2.5e-7}}};
    trace.quality = record::Quality{
        .psnr_noisy_db = 20.1, .psnr_denoised_db = 31.25, .ssim_noisy = 0.4, .ssim_denoised = 0.9, .samples = 3072};
    trace.preview = record::Preview{{372, 497, {256, 256}}, "previews/4-noisy.png", "previews/4-denoised.png", ""};
    trace.weights_source = "models/dncnn.safetensors";
    trace.useful_pixels = 1.25e6;
    trace.processed_pixels = 2e6;
    trace.num_patches = 20;
    return trace;
}

/// Makes a point without figures, with this status and reason.
inline record::PointTrace unmeasured_trace(record::PointStatus status, const std::string& reason) {
    record::PointTrace trace;
    trace.point = traced_point();
    trace.status = status;
    trace.reason = reason;
    return trace;
}

}  // namespace pb
