// A point's raw trace to the figures that are reported: order statistics, rates, scopes, memory maxima. Pure.
#pragma once

#include "patchbench/base/statistics.hpp"
#include "patchbench/run/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// What a figure may be used for. INVALID: measured, but not comparable. FAILED: wrong or not measured.
enum class Validity : uint8_t { valid, invalid, failed };

template <>
struct EnumNames<Validity> {
    static constexpr std::array<std::pair<Validity, std::string_view>, 3> names{
        {{Validity::valid, "VALID"}, {Validity::invalid, "INVALID"}, {Validity::failed, "FAILED"}}};
};

/// Figures of one point. Times in seconds, memory in MiB; absent where it was not or could not be measured. All rates
/// are work / (maximum over ranks of the time, per repetition); never a mean or a sum of per-rank rates.
struct Summary {
    std::string key, label;
    PointStatus status = PointStatus::ok;
    Validity validity = Validity::valid;
    std::vector<std::string> reasons;  // why not VALID, each with what to do

    int64_t repetitions = 0;
    // scope pipeline: host image to host image, exchange to the root included
    std::optional<double> pipeline_s, pipeline_s_low, pipeline_s_high;  // median and its 95 % interval (none for n < 6)
    std::optional<double> pipeline_s_mean, pipeline_s_sd, pipeline_s_min;
    std::optional<double> patches_per_s, images_per_s, useful_mpx_per_s, processed_mpx_per_s, tflops;
    // scope forward: network alone, batch resident
    std::optional<double> forward_s;  // a repetition's forward calls alone, of the slowest rank
    std::optional<double> forward_patches_per_s;
    std::optional<double> efficiency;  // forward_s / pipeline_s
    // scope job: file to file
    std::optional<double> job_s;
    std::array<std::optional<double>, kNumStages> stage_s;  // median over repetitions of the maximum over ranks
    std::optional<double> imbalance;                        // max / mean over ranks of the median wall time
    std::optional<int> slowest_rank;
    std::optional<double> cpu_percent;  // process CPU time / wall, mean over ranks
    // memory, maximum over ranks
    std::optional<double> allocated_peak_mib, reserved_peak_mib, device_used_mib, host_peak_mib, predicted_peak_mib;
    std::optional<int> allocated_peak_rank;
    std::optional<double> pixels_per_forward;
    // quality and verification
    std::optional<double> window_error, seam_error, psnr_noisy_db, psnr_denoised_db, ssim_noisy, ssim_denoised;

    struct PerRank {
        int rank = 0;
        double patches_per_s = 0;  // own patches / own median wall time
        double wall_s = 0;
        double allocated_peak_mib = 0, reserved_peak_mib = 0, device_used_mib = 0, host_peak_mib = 0;
        int64_t num_patches = 0;
    };
    std::vector<PerRank> ranks;
};

[[nodiscard]] Summary summarise(const PointTrace& trace);

/// The whole study: worst of its points, with reasons; and the exit code that goes with it.
struct Verdict {
    Validity validity = Validity::valid;
    std::vector<std::string> reasons;
    ExitCode exit_code = ExitCode::ok;
};
/// `strict`: INVALID ends with ExitCode::not_comparable. Points out of memory, skipped or interrupted:
/// ExitCode::partial.
[[nodiscard]] Verdict judge(const std::vector<Summary>& summaries, bool strict);

}  // namespace pb
