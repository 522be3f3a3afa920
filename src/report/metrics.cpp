#include "report/metrics.hpp"

#include "measure/point_figures.hpp"
#include "report/tables/text.hpp"

#include <fmt/format.h>

namespace pb::report {

namespace {

using measure::Summary;

constexpr auto kHigher = Better::higher;
constexpr auto kLower = Better::lower;
constexpr auto kNeither = Better::neither;

constexpr const char* kSlowest = "max per repetition";
constexpr const char* kOfRank = "sum / sum";

// NOLINTBEGIN(readability-identifier-naming): the names must read as words in the rows below.
template <std::optional<double> Summary::*member>
constexpr MetricAccess of{[](const Summary& summary) { return summary.*member; },
                          [](Summary& summary, std::optional<double> value) { summary.*member = value; }};

template <record::Stage stage>
constexpr MetricAccess stage_of{[](const Summary& summary) { return summary.stage_s[stage]; },
                                [](Summary& summary, std::optional<double> value) { summary.stage_s[stage] = value; }};

template <record::Bound bound>
constexpr MetricAccess bound_of{[](const Summary& summary) { return summary.bounds[bound]; },
                                [](Summary& summary, std::optional<double> value) { summary.bounds[bound] = value; }};

constexpr MetricAccess repetitions_of{
    [](const Summary& summary) { return std::optional(static_cast<double>(summary.repetitions)); },
    [](Summary& summary, std::optional<double> value) {
        summary.repetitions = static_cast<int64_t>(value.value_or(0));
    }};
// NOLINTEND(readability-identifier-naming)

std::string pipeline_cell(const Summary& s) {
    const auto interval = measure::pipeline_interval(s);
    return interval ? with_interval(s.pipeline_s, *interval) : readable(s.pipeline_s);
}

/// "2.250 ±13 %": half the interval as a share of the median.
std::string brief_pipeline_cell(const Summary& s) {
    const auto interval = measure::pipeline_interval(s);
    if (!interval) return readable(s.pipeline_s);
    const double percent = 50 * (interval->high - interval->low) / s.pipeline_s.value();
    return fmt::format("{} ±{:.{}f} %", readable(s.pipeline_s), percent, percent < 9.95 ? 1 : 0);
}

std::string efficiency_cell(const Summary& s) { return fixed(s.efficiency, 3); }

std::string allocated_cell(const Summary& s) {
    const std::string rank = s.allocated_peak_rank ? fmt::format(" ({})", *s.allocated_peak_rank) : "";
    return readable_mib(s.allocated_peak_mib) + rank;
}

std::string psnr_cell(const Summary& s) { return fixed(s.psnr_noisy_db, 2) + " → " + fixed(s.psnr_denoised_db, 2); }

constexpr Metric kMetrics[] = {
    {"repetitions", "count", "", "timed passes over the whole image", "-", "-", kNeither, repetitions_of},
    {"outliers", "count", "", "passes beyond Tukey's fences: marked, never dropped (from 6 repetitions on)", "-", "-",
     kNeither, of<&Summary::outliers>},
    {"drift", "ratio", "", "last third of the passes / first third - 1, medians (from 6 repetitions on)", kSlowest,
     "median / median - 1", kNeither, of<&Summary::drift>},
    {"patches_per_s", "patches/s", "patches/s", "patches of the image / pipeline_s", kSlowest, "median", kHigher,
     of<&Summary::patches_per_s>},
    {"useful_mpx_per_s", "Mpx/s", "useful\nMpx/s", "pixels of the image / pipeline_s", kSlowest, "median", kHigher,
     of<&Summary::useful_mpx_per_s>},
    {"processed_mpx_per_s", "Mpx/s", "", "pixels through the network, halo and repeated windows included / pipeline_s",
     kSlowest, "median", kHigher, of<&Summary::processed_mpx_per_s>},
    {"images_per_s", "images/s", "", "whole images / pipeline_s", kSlowest, "median", kHigher,
     of<&Summary::images_per_s>},
    {"tflops", "TFLOP/s", "", "2 x multiply-accumulates of the computed pixels / pipeline_s", kSlowest, "median",
     kHigher, of<&Summary::tflops>},
    {"pipeline_s", "s", "pipeline s\n[95 %]", "one pass: host image to host image, exchange to the root included",
     kSlowest, "median", kLower, of<&Summary::pipeline_s>, pipeline_cell, 5, brief_pipeline_cell},
    {"pipeline_low_s", "s", "", "lower end of the 95 % interval of pipeline_s (from 6 repetitions on)", kSlowest,
     "order statistic", kLower, of<&Summary::pipeline_low_s>},
    {"pipeline_high_s", "s", "", "upper end of the 95 % interval of pipeline_s (from 6 repetitions on)", kSlowest,
     "order statistic", kLower, of<&Summary::pipeline_high_s>},
    {"pipeline_mean_s", "s", "", "mean of the passes", kSlowest, "mean", kLower, of<&Summary::pipeline_mean_s>},
    {"pipeline_sd_s", "s", "", "standard deviation of the passes (n - 1)", kSlowest, "standard deviation", kLower,
     of<&Summary::pipeline_sd_s>},
    {"pipeline_min_s", "s", "", "fastest pass", kSlowest, "min", kLower, of<&Summary::pipeline_min_s>},
    {"pipeline_p90_s", "s", "", "90th percentile of the passes (from 10 repetitions on)", kSlowest, "percentile",
     kLower, of<&Summary::pipeline_p90_s>},
    {"pipeline_p95_s", "s", "", "95th percentile of the passes (from 20 repetitions on)", kSlowest, "percentile",
     kLower, of<&Summary::pipeline_p95_s>},
    {"pipeline_p99_s", "s", "", "99th percentile of the passes (from 100 repetitions on)", kSlowest, "percentile",
     kLower, of<&Summary::pipeline_p99_s>},
    {"forward_s", "s", "",
     "the forward calls of one pass alone, input on the device: batches, by their arithmetic, x time of a call", "max",
     "median of calls", kLower, of<&Summary::forward_s>},
    {"round_trip_s", "s", "", "forward_s with the hand-over to an engine in a process of its own", "max",
     "median of calls", kLower, of<&Summary::round_trip_s>},
    {"forward_patches_per_s", "patches/s", "", "patches of the image / forward_s", "max", "median of calls", kHigher,
     of<&Summary::forward_patches_per_s>},
    {"call_s", "s", "", "one forward call, by the clock of the process that runs the network", "max", "median of calls",
     kLower, of<&Summary::call_s>},
    {"call_low_s", "s", "", "lower end of the 95 % interval of call_s (from 6 calls on)", "of the slowest",
     "order statistic", kLower, of<&Summary::call_low_s>},
    {"call_high_s", "s", "", "upper end of the 95 % interval of call_s (from 6 calls on)", "of the slowest",
     "order statistic", kLower, of<&Summary::call_high_s>},
    {"call_p90_s", "s", "", "90th percentile of the calls (from 10 on)", "of the slowest", "percentile", kLower,
     of<&Summary::call_p90_s>},
    {"call_p99_s", "s", "", "99th percentile of the calls (from 100 on)", "of the slowest", "percentile", kLower,
     of<&Summary::call_p99_s>},
    {"call_mean_s", "s", "", "mean of the calls", "of the slowest", "mean", kLower, of<&Summary::call_mean_s>},
    {"call_mean_low_s", "s", "",
     "lower end of the 95 % interval of call_mean_s (from 30 calls on, taken as independent)", "of the slowest",
     "mean - 1.96 sd / sqrt(n)", kLower, of<&Summary::call_mean_low_s>},
    {"call_mean_high_s", "s", "",
     "upper end of the 95 % interval of call_mean_s (from 30 calls on, taken as independent)", "of the slowest",
     "mean + 1.96 sd / sqrt(n)", kLower, of<&Summary::call_mean_high_s>},
    {"load_s", "s", "", "starting the engine with the network, once a point", "max", "-", kLower, of<&Summary::load_s>},
    {"prepare_s", "s", "",
     "buffers, and what the engine does before the first pass: compiling for the shape, a first call; once a point",
     "max", "-", kLower, of<&Summary::prepare_s>},
    {"first_pass_s", "s", "", "the first pass of all, a warm-up one where there is one", "max", "-", kLower,
     of<&Summary::first_pass_s>},
    {"efficiency", "ratio", "forward/\npipeline",
     "forward_s / pipeline_s: the share of the network; the two are timed separately, so noise can make it exceed 1",
     "max / max", "median / median", kHigher, of<&Summary::efficiency>, efficiency_cell, 2},
    {"job_s", "s", "", "file to file: read + noise + pipeline_s + write, of those that took place", "max",
     "median of the pipeline", kLower, of<&Summary::job_s>},
    {"stage_read_s", "s", "", "reading the image, once before the passes", "max", "-", kLower,
     stage_of<record::Stage::read>},
    {"stage_noise_s", "s", "", "making the noisy image, once before the passes", "max", "-", kLower,
     stage_of<record::Stage::noise>},
    {"stage_gather_s", "s", "", "cutting windows out of the host image", kSlowest, "median", kLower,
     stage_of<record::Stage::gather>},
    {"stage_h2d_s", "s", "", "copies to the device; stages may overlap", kSlowest, "median", kLower,
     stage_of<record::Stage::h2d>},
    {"stage_forward_s", "s", "", "forward calls inside the passes", kSlowest, "median", kLower,
     stage_of<record::Stage::forward>},
    {"stage_d2h_s", "s", "", "copies from the device", kSlowest, "median", kLower, stage_of<record::Stage::d2h>},
    {"stage_scatter_s", "s", "", "writing patches into the host image", kSlowest, "median", kLower,
     stage_of<record::Stage::scatter>},
    {"stage_exchange_s", "s", "",
     "bringing the output of all nodes to the root; halo exchanged: waiting for border rows, too", kSlowest, "median",
     kLower, stage_of<record::Stage::exchange>},
    {"stage_write_s", "s", "", "writing the output file, once after the passes", "max", "-", kLower,
     stage_of<record::Stage::write>},
    {"imbalance", "ratio", "", "the largest of the ranks' median wall times / mean of these medians; 1: even",
     "max / mean", "median", kLower, of<&Summary::imbalance>},
    {"cpu_percent", "%", "", "process CPU time / wall time; 100: one core busy in each rank", "mean", "sum / sum",
     kNeither, of<&Summary::cpu_percent>},
    {"cpu_per_patch_s", "s", "", "process CPU time of all ranks in the passes / patches: what a patch costs the host",
     "sum", "mean", kLower, of<&Summary::cpu_per_patch_s>},
    {"repetition_s", "s", "",
     "a pass with what lies between passes but forward calls alone: gathering of figures, marking of the output",
     "root", "mean", kLower, of<&Summary::repetition_s>},
    {"energy_j", "J", "", "energy of all GPUs in one pass, by their counters (passes of a second or more in all)",
     "sum", "mean", kLower, of<&Summary::energy_j>},
    {"energy_j_per_mpx", "J/Mpx", "", "energy_j / pixels of the image", "sum", "mean", kLower,
     of<&Summary::energy_j_per_mpx>},
    {"cpu_energy_j", "J", "", "energy of the processors of all hosts in one pass, where the kernel lets it be read",
     "sum over nodes", "mean", kLower, of<&Summary::cpu_energy_j>},
    {"cpu_energy_j_per_mpx", "J/Mpx", "", "cpu_energy_j / pixels of the image", "sum over nodes", "mean", kLower,
     of<&Summary::cpu_energy_j_per_mpx>},
    {"sm_clock_mhz", "MHz", "", "clock of the GPU's multiprocessors while the passes ran", "min", "median of samples",
     kHigher, of<&Summary::sm_clock_mhz>},
    {"gpu_utilisation_percent", "%", "", "time in which a kernel ran on the GPU, as the driver sees it", "mean",
     "mean of samples", kNeither, of<&Summary::gpu_utilisation_percent>},
    {"gpu_temperature_c", "degC", "", "temperature of the GPU", "max", "max of samples", kLower,
     of<&Summary::gpu_temperature_c>},
    {"throttled_s", "s", "", "time in which temperature or the hardware's protection held the GPU's clocks down", "max",
     "sum", kLower, of<&Summary::throttled_s>},
    {"power_cap_s", "s", "", "time in which the power limit held the GPU's clocks down", "max", "sum", kLower,
     of<&Summary::power_cap_s>},
    {"forward_tflops", "TFLOP/s", "", "2 x multiply-accumulates of the calls in forward_s / their time: of a rank",
     kOfRank, "median of calls", kHigher, of<&Summary::forward_tflops>},
    {"executed_tflops", "TFLOP/s", "",
     "forward_tflops, of which the engine native multiplies less by Winograd's method: of a rank", kOfRank,
     "median of calls", kHigher, of<&Summary::executed_tflops>},
    {"convolution_us", "us", "", "a call in forward_s / convolutions of the network", kOfRank, "median of calls",
     kLower, of<&Summary::convolution_us>},
    {"forward_of_matmul_percent", "%", "", "executed_tflops / matmul_tflops", kOfRank, "median of calls", kHigher,
     of<&Summary::forward_of_matmul_percent>},
    {"forward_of_conv_percent", "%", "", "executed_tflops / conv_tflops; deeper layers may do better than the bound",
     kOfRank, "median of calls", kHigher, of<&Summary::forward_of_conv_percent>},
    {"forward_of_memory_percent", "%", "",
     "bytes that the network's layers must read and write / time of the calls / device_copy_gb_per_s", kOfRank,
     "median of calls", kHigher, of<&Summary::forward_of_memory_percent>},
    {"host_of_copy_percent", "%", "",
     "bytes that gather and scatter must read and write / their time / host_copy_gb_per_s", kOfRank, "median", kHigher,
     of<&Summary::host_of_copy_percent>},
    {"h2d_of_bound_percent", "%", "", "bytes copied to the device / time of the copies / h2d_gb_per_s", kOfRank,
     "median", kHigher, of<&Summary::h2d_of_bound_percent>},
    {"d2h_of_bound_percent", "%", "", "bytes copied from the device / time of the copies / d2h_gb_per_s", kOfRank,
     "median", kHigher, of<&Summary::d2h_of_bound_percent>},
    {"matmul_tflops", "TFLOP/s", "", "upper bound of a rank: matrix product in the point's precision", "min",
     "median of calls", kHigher, bound_of<record::Bound::matmul_tflops>},
    {"conv_tflops", "TFLOP/s", "",
     "upper bound of a rank: 3x3 convolution of 64 channels, channels_last, in the point's precision", "min",
     "median of calls", kHigher, bound_of<record::Bound::conv_tflops>},
    {"device_copy_gb_per_s", "GB/s", "",
     "upper bound of a rank: copies within the device's memory, read + written (CPU: by all threads of the rank)",
     "min", "median of calls", kHigher, bound_of<record::Bound::device_copy_gb_per_s>},
    {"h2d_gb_per_s", "GB/s", "", "upper bound of a rank: copies from pinned host memory to the device", "min",
     "median of calls", kHigher, bound_of<record::Bound::h2d_gb_per_s>},
    {"d2h_gb_per_s", "GB/s", "", "upper bound of a rank: copies from the device to pinned host memory", "min",
     "median of calls", kHigher, bound_of<record::Bound::d2h_gb_per_s>},
    {"host_copy_gb_per_s", "GB/s", "",
     "upper bound of a rank: copies within the host's memory by one thread, read + written", "min", "median of calls",
     kHigher, bound_of<record::Bound::host_copy_gb_per_s>},
    {"exchanged_mib", "MiB", "", "output that the ranks of other nodes send to the root in a pass", "sum", "-",
     kNeither, of<&Summary::exchanged_mib>},
    {"exchange_gb_per_s", "GB/s", "", "exchanged bytes / stage_exchange_s", kSlowest, "median", kHigher,
     of<&Summary::exchange_gb_per_s>},
    {"link_gb_per_s", "GB/s", "",
     "upper bound: messages of 4 MiB one way between the root and one rank of another node, the fastest of four nodes",
     "max", "max of messages", kHigher, of<&Summary::link_gb_per_s>},
    {"exchange_of_link_percent", "%", "",
     "exchange_gb_per_s / link_gb_per_s; several nodes at once may do better than one", kSlowest, "median", kHigher,
     of<&Summary::exchange_of_link_percent>},
    {"allocated_peak_mib", "MiB", "peak MiB\n(rank)",
     "peak of what the engine's allocator handed out; of an engine in a process of its own that process's resident set",
     "max", "max", kLower, of<&Summary::allocated_peak_mib>, allocated_cell},
    {"reserved_peak_mib", "MiB", "", "peak of what the engine's allocator held, cached blocks included", "max", "max",
     kLower, of<&Summary::reserved_peak_mib>},
    {"device_used_mib", "MiB", "", "in use on the whole device, by everything on it", "max", "max", kLower,
     of<&Summary::device_used_mib>},
    {"host_peak_mib", "MiB", "",
     "peak resident set of the rank's process, plus that of an engine in a process of its own", "max", "max", kLower,
     of<&Summary::host_peak_mib>},
    {"engine_peak_mib", "MiB", "",
     "peak resident set of the process that runs the network: the rank's, or that of an engine in a process of its own",
     "max", "max", kLower, of<&Summary::engine_peak_mib>},
    {"predicted_peak_mib", "MiB", "",
     "what the plan predicted for allocated_peak_mib, which leaves out the maps of engine reference", "max", "-",
     kNeither, of<&Summary::predicted_peak_mib>},
    {"pixels_per_forward", "px", "", "pixels in one forward call: batch x window", "max", "-", kNeither,
     of<&Summary::pixels_per_forward>},
    {"window_error", "ratio", "",
     "largest difference between windows and the same windows run alone in fp32 (batch 1, contiguous) / full scale: 1 "
     "(white), or the largest magnitude expected there where that is more",
     "max", "-", kLower, of<&Summary::window_error>},
    {"fp64_error", "ratio", "",
     "largest difference between a window of each rank and the same window computed in double precision / full scale "
     "as in window_error (setting verify.fp64)",
     "max", "-", kLower, of<&Summary::fp64_error>},
    {"seam_error", "ratio", "seam\nerror",
     "largest difference to the image run whole, or to probes with full context / full scale: 1 (white), or the "
     "largest magnitude expected there where that is more, as untrained weights give; may exceed 1; decides only when "
     "the halo is exact",
     "max", "-", kLower, of<&Summary::seam_error>, nullptr, 4},
    {"psnr_noisy_db", "dB", "", "PSNR of the noisy image against the clean one (clipped to [0,1], peak 1)", "-", "-",
     kHigher, of<&Summary::psnr_noisy_db>},
    {"psnr_denoised_db", "dB", "PSNR dB\nbefore → after", "PSNR of the denoised image against the clean one", "-", "-",
     kHigher, of<&Summary::psnr_denoised_db>, psnr_cell, 1},
    {"ssim_noisy", "ratio", "", "SSIM of the noisy image against the clean one", "-", "-", kHigher,
     of<&Summary::ssim_noisy>},
    {"ssim_denoised", "ratio", "", "SSIM of the denoised image against the clean one", "-", "-", kHigher,
     of<&Summary::ssim_denoised>},
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

}  // namespace pb::report
