// Turns a point's raw trace into the reported figures: order statistics, rates, scopes and memory maxima. Pure.
#pragma once

#include "base/statistics.hpp"
#include "measure/bottleneck.hpp"
#include "record/point.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::measure {

/// Says how a figure may be used. INVALID: it may not be compared (shared device, not verified, out of memory, ...).
/// FAILED: the output is wrong, or the point broke.
enum class Validity : uint8_t { valid, invalid, failed };

constexpr auto enum_names(Validity) {
    return std::to_array<EnumName<Validity>>(
        {{Validity::valid, "VALID"}, {Validity::invalid, "INVALID"}, {Validity::failed, "FAILED"}});
}

/// One rank's figures over the repetitions of a point.
struct RankSummary {
    int rank = 0;
    int64_t num_patches = 0;
    std::optional<double> patches_per_s;  // own patches / own median wall time
    std::optional<double> wall_s;         // median
    std::optional<double> allocated_peak_mib, reserved_peak_mib, device_used_mib, host_peak_mib;
};

/// In MiB; a figure of 0 bytes is absent.
[[nodiscard]] inline std::optional<double> mib(int64_t bytes) {
    return bytes > 0 ? std::optional(static_cast<double>(bytes) / kMiB) : std::nullopt;
}

/// Fills the figures that results.jsonl has among the raw values alone.
inline void take_raw_values(const record::RankTrace& traced, RankSummary& rank) {
    rank.allocated_peak_mib = mib(traced.memory.allocated_peak);
    rank.reserved_peak_mib = mib(traced.memory.reserved_peak);
    rank.device_used_mib = mib(traced.memory.device_used);
    rank.host_peak_mib = mib(traced.memory.host_peak);
}

/// Figures of one point. Times are in seconds, memory in MiB. A figure is absent when it was not or could not be
/// measured; it is never 0 instead. All rates are work / (maximum over ranks of the time, per repetition), never a mean
/// or a sum of per-rank rates. Times and rates exist only for points with status ok and a verification that did not
/// fail: a wrong run has no speed.
struct Summary {
    int64_t index = 0;
    std::string key, label;
    bool simulated = false;  // no network ran; times come from a clock and the code around it
    record::PointStatus status = record::PointStatus::ok;
    record::Verification::Outcome verification = record::Verification::Outcome::off;
    Validity validity = Validity::valid;
    std::vector<std::string> reasons;  // why not VALID; each says what to do
    std::vector<std::string> notes;    // useful to know; they do not question the figures
    // What was measured, as name and text ("image", "retina.jpg 1411 x 1411 x 3"). All points have the same names.
    std::vector<std::pair<std::string, std::string>> context;

    int64_t repetitions = 0;
    StopReason stop_reason = StopReason::none;  // why the repetitions ended
    std::vector<size_t> outlier_reps;           // those beyond Tukey's fences: marked, not dropped
    std::optional<double> outliers;             // number of outliers; none for n < 6
    std::optional<double> drift;                // last third / first third - 1; none for n < 6
    // Scope pipeline: from host image to host image, including the exchange to the root.
    std::optional<double> pipeline_s, pipeline_low_s, pipeline_high_s;  // median and its 95 % interval (none for n < 6)
    std::optional<double> pipeline_mean_s, pipeline_sd_s, pipeline_min_s;
    std::optional<double> pipeline_p90_s, pipeline_p95_s, pipeline_p99_s;  // from 10, 20 and 100 repetitions on
    std::optional<double> patches_per_s, images_per_s, useful_mpx_per_s, processed_mpx_per_s, tflops;
    // Scope forward: the network alone, with the batch resident.
    std::optional<double> forward_s;     // forward calls of one repetition, slowest rank
    std::optional<double> round_trip_s;  // the same with the hand-over to an engine in a process of its own
    std::optional<double> forward_patches_per_s;
    // One forward call of the rank whose calls are the slowest: median and mean, each with its 95 % interval.
    std::optional<double> call_s, call_low_s, call_high_s, call_p90_s, call_p99_s;
    std::optional<double> call_mean_s, call_mean_low_s, call_mean_high_s;
    // Before the first result: making the engine, preparing its buffers, the first pass.
    std::optional<double> load_s, prepare_s, first_pass_s;
    std::optional<double> efficiency;  // forward_s / pipeline_s
    // Scope job: from file to file.
    std::optional<double> job_s;
    // Median over repetitions of the maximum over ranks; read, noise and write run once. Absent: no such stage.
    EnumArray<record::Stage, std::optional<double>> stage_s;
    std::optional<double> imbalance;  // max / mean over ranks of the median wall time
    std::optional<int> slowest_rank;
    std::optional<double> cpu_percent;      // process CPU time / wall, mean over ranks
    std::optional<double> cpu_per_patch_s;  // process CPU time of all ranks / patches
    std::optional<double> repetition_s;     // includes the time between repetitions
    // Telemetry: energy of a pass on all devices and on all hosts' processors; slowest clock, hottest device.
    std::optional<double> energy_j, energy_j_per_mpx, cpu_energy_j, cpu_energy_j_per_mpx;
    std::optional<double> sm_clock_mhz, gpu_utilisation_percent, gpu_temperature_c, throttled_s, power_cap_s;
    record::BoundsRecord bounds;  // upper bounds of a rank, the least over the ranks
    // The rate of one rank while it works (work of all ranks / sum of their seconds), and its percentage of the mean
    // bound.
    std::optional<double> forward_tflops, executed_tflops;  // see measure/roofline.hpp
    std::optional<double> forward_of_matmul_percent, forward_of_conv_percent, forward_of_memory_percent;
    std::optional<double> host_of_copy_percent, h2d_of_bound_percent, d2h_of_bound_percent;
    // What ranks on other nodes send to the root in a pass, and its rate in percent of the measured link rate.
    std::optional<double> exchanged_mib, exchange_gb_per_s, link_gb_per_s, exchange_of_link_percent;
    std::optional<double> convolution_us;  // time of a forward call / convolutions of the network
    std::optional<Bottleneck> bottleneck;  // what limits the point, in words
    // Memory: maximum over ranks.
    std::optional<double> allocated_peak_mib, reserved_peak_mib, device_used_mib, host_peak_mib, predicted_peak_mib;
    std::optional<double> engine_peak_mib;  // resident, of the process that runs the network
    std::optional<int> allocated_peak_rank;
    std::optional<double> pixels_per_forward;
    // Quality and verification.
    std::optional<double> window_error, fp64_error, seam_error;
    std::optional<double> psnr_noisy_db, psnr_denoised_db, ssim_noisy, ssim_denoised;

    std::vector<RankSummary> ranks;
    std::string reduction;  // "NCCL" | "MPI": what gathered the figures; empty: not gathered
};

/// above / below; nothing where one of them is absent, or `below` is not positive.
[[nodiscard]] inline std::optional<double> quotient(const std::optional<double>& above,
                                                    const std::optional<double>& below) {
    return above && below && *below > 0 ? std::optional(*above / *below) : std::nullopt;
}

/// Throws Error when the trace of a point with status ok is inconsistent: a rank lacks a sample for a repetition.
[[nodiscard]] Summary summarise(const record::PointTrace& trace);

/// A point of a study. It refers to both, which must outlive it.
struct StudyPoint {
    const record::PointTrace* trace;
    const Summary* summary;
};
using StudyPoints = std::vector<StudyPoint>;

/// Returns the label of a point as tables show it: of points with equal labels, of which its study has `num_same`, each
/// gets its index as a suffix ("dncnn-p256#3").
[[nodiscard]] std::string unique_label(const Summary& summary, int64_t num_same);

/// The median interval needs at least this many repetitions.
inline constexpr int64_t kMinRepetitionsForInterval = 6;

/// What speaks against the clean image that the user gave for a point; empty where nothing does.
[[nodiscard]] std::string clean_image_note(const record::PointTrace& trace);

/// Says that the output of a trained network is far brighter or darker than its input, or differs from it by more than
/// noise does, which denoising does not do; otherwise empty.
[[nodiscard]] std::string change_note(const record::PointTrace& trace);

}  // namespace pb::measure
