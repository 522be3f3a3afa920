// A trace that has every figure, each with a different number, and the expected values. They were computed from this
// trace outside the program, in Python with the percentiles and medians of NumPy, by the definitions in
// docs/reading-results.md. So the test does not compare the program with itself.
#pragma once

#include "three_rank_trace.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pb {

/// Returns the seconds of pass i of 100; one of them is an outlier.
inline double pass_of_every_figure(int i) {
    const int place = 37 * i % 100;
    return i == 50 ? 9 : 2 + place * place / 10000.0;
}

/// Returns a call of `rank` divided by its median call, i = 0 .. 100. The slowest calls are those of rank 0, whose
/// median is the smallest.
inline double call_of_every_figure(int i, int rank) {
    const int place = 37 * i % 101;
    return place <= 50 ? 0.5 + 0.01 * place : 1 + 0.04 * (3 - rank) * (place - 50);
}

/// A stage takes the pass time times this factor times (rank + 1).
inline constexpr record::StageSeconds kPartsOfEveryFigure{0, 0, 0.01, 0.02, 0.25, 0.03, 0.04, 0.05, 0};

inline record::RankTrace rank_of_every_figure(int number) {
    record::RankTrace rank = traced_rank(number);
    constexpr std::array kWall{0.5, 0.75, 1.0}, kBusy{0.5, 0.6, 0.8};
    const auto place = static_cast<size_t>(number);
    rank.wall_s.clear();
    rank.cpu_s.clear();
    rank.stage_s.clear();
    for (int i = 0; i < 100; ++i) {
        const double pass_s = pass_of_every_figure(i);
        rank.wall_s.push_back(pass_s * kWall.at(place));
        rank.cpu_s.push_back(rank.wall_s.back() * kBusy.at(place));
        record::StageSeconds& stages = rank.stage_s.emplace_back(kPartsOfEveryFigure);
        for (double& seconds : stages) seconds *= pass_s * (number + 1);
    }
    const double call_s = 1.1 * rank.forward_call_s.front();
    rank.forward_call_s.clear();
    for (int i = 0; i < 101; ++i) {
        rank.forward_call_s.push_back(call_s * call_of_every_figure(i, number));
        rank.round_trip_s.push_back(1.5 * rank.forward_call_s.back());
    }
    constexpr std::array kPlace{0, 2, 1};  // neither the first nor the last rank has most
    const int more = kPlace.at(place);
    rank.memory.reserved_peak += more << 20;
    rank.memory.engine_peak = (500 + 30 * more) << 20;
    rank.memory.device_used = int64_t{1800 + 100 * more} << 20;
    rank.memory.host_peak = int64_t{1000 + more} << 20;
    for (size_t i = 0; i < rank.bounds.size(); ++i)
        rank.bounds.at(i) = 10.0 * static_cast<double>(i + 1) + number * number;
    return rank;
}

inline TelemetryRecord telemetry_of_every_figure(int rank) {
    TelemetryRecord record;
    record.first_on_node = rank != 1;
    record[Meter::observed_s] = 300;
    record[Meter::energy_j] = 600 * (rank + 1);
    if (record.first_on_node) record[Meter::cpu_energy_j] = rank == 0 ? 300 : 900;
    record[Meter::thermal_s] = 1 + rank;
    record[Meter::hardware_slowdown_s] = 2 * rank;
    record[Meter::power_cap_s] = 5 + rank;
    for (const auto& [clock_mhz, temperature_c, percent] :
         std::vector<std::array<double, 3>>{{1750, 38, 10}, {1800, 45, 20}, {1890, 40, 60}}) {
        auto& sample = record.samples.emplace_back();
        sample[Gauge::sm_clock_mhz] = clock_mhz + 50 * rank;
        sample[Gauge::temperature_c] = temperature_c + 10 * rank;
        sample[Gauge::utilisation_percent] = percent + 3 * rank;
    }
    return record;
}

inline record::PointTrace trace_of_every_figure() {
    record::PointTrace trace = three_rank_trace();
    trace.point.device = DeviceKind::cuda;
    trace.wall_s.clear();
    for (int i = 0; i < 100; ++i) trace.wall_s.push_back(pass_of_every_figure(i) + 0.125);
    trace.repeated_s = 300;
    trace.write_s = 0.75;
    trace.load_s = 1.75;
    trace.prepare_s = 0.375;
    trace.first_pass_s = 2.625;
    trace.ranks.clear();
    for (int rank = 0; rank < kTraceRanks; ++rank) {
        trace.ranks.push_back(rank_of_every_figure(rank));
        trace.ranks.back().telemetry = telemetry_of_every_figure(rank);
    }
    trace.exchange = {.carrier = "MPI", .bytes = 45 << 20, .link_bytes_per_s = 2e9, .link_latency_s = 1e-5};
    return trace;
}

/// Returns the key and the value of every metric, in the order of the table.
inline std::vector<std::pair<std::string, double>> every_figure() {
    return {
        {"repetitions", 100.0},
        {"outliers", 1.0},
        {"drift", 0.016982253545045456},
        {"patches_per_s", 8.42069807587049},
        {"useful_mpx_per_s", 0.5262936297419056},
        {"processed_mpx_per_s", 0.8420698075870491},
        {"images_per_s", 0.42103490379352454},
        {"tflops", 1.123334596438045},
        {"pipeline_s", 2.3750999999999998},
        {"pipeline_low_s", 2.2771},
        {"pipeline_high_s", 2.4971},
        {"pipeline_mean_s", 2.52085},
        {"pipeline_sd_s", 0.7300969290153027},
        {"pipeline_min_s", 2.125},
        {"pipeline_p90_s", 2.9368100000000004},
        {"pipeline_p95_s", 3.0284549999999997},
        {"pipeline_p99_s", 3.165299000000031},
        {"forward_s", 1.1},
        {"round_trip_s", 1.65},
        {"forward_patches_per_s", 18.18181818181818},
        {"call_s", 0.6600000000000001},
        {"call_low_s", 0.5940000000000002},
        {"call_high_s", 0.9240000000000002},
        {"call_p90_s", 1.7160000000000004},
        {"call_p99_s", 1.9536000000000004},
        {"call_mean_s", 0.9099504950495052},
        {"call_mean_low_s", 0.8115113121346644},
        {"call_mean_high_s", 1.008389677964346},
        {"load_s", 1.75},
        {"prepare_s", 0.375},
        {"first_pass_s", 2.625},
        {"efficiency", 0.463138394172877},
        {"job_s", 3.8750999999999998},
        {"stage_read_s", 0.25},
        {"stage_noise_s", 0.5},
        {"stage_gather_s", 0.06750300000000001},
        {"stage_h2d_s", 0.13500600000000001},
        {"stage_forward_s", 1.687575},
        {"stage_d2h_s", 0.202509},
        {"stage_scatter_s", 0.27001200000000003},
        {"stage_exchange_s", 0.337515},
        {"stage_write_s", 0.75},
        {"imbalance", 1.3333333333333333},
        {"cpu_percent", 47.520677549239345},
        {"cpu_per_patch_s", 0.17968874999999998},
        {"repetition_s", 3.0},
        {"energy_j", 36.0},
        {"energy_j_per_mpx", 28.8},
        {"cpu_energy_j", 12.0},
        {"cpu_energy_j_per_mpx", 9.6},
        {"sm_clock_mhz", 1800.0},
        {"gpu_utilisation_percent", 33.0},
        {"gpu_temperature_c", 65.0},
        {"throttled_s", 4.0},
        {"power_cap_s", 7.0},
        {"forward_tflops", 1.0106181818181819},
        {"executed_tflops", 1.0106181818181819},
        {"convolution_us", 26400.0},
        {"forward_of_matmul_percent", 8.662441558441559},
        {"forward_of_conv_percent", 4.664391608391608},
        {"forward_of_memory_percent", 23.35885167464115},
        {"host_of_copy_percent", 0.18737905942919053},
        {"h2d_of_bound_percent", 0.21332385227323228},
        {"d2h_of_bound_percent", 0.11469024315765178},
        {"matmul_tflops", 10.0},
        {"conv_tflops", 20.0},
        {"device_copy_gb_per_s", 30.0},
        {"h2d_gb_per_s", 40.0},
        {"d2h_gb_per_s", 50.0},
        {"host_copy_gb_per_s", 60.0},
        {"exchanged_mib", 45.0},
        {"exchange_gb_per_s", 0.13980391982578552},
        {"link_gb_per_s", 2.0},
        {"exchange_of_link_percent", 6.990195991289276},
        {"allocated_peak_mib", 300.0},
        {"reserved_peak_mib", 402.0},
        {"device_used_mib", 2000.0},
        {"host_peak_mib", 1002.0},
        {"engine_peak_mib", 560.0},
        {"predicted_peak_mib", 290.0},
        {"pixels_per_forward", 350464.0},
        {"window_error", 1e-06},
        {"fp64_error", 7.5e-07},
        {"seam_error", 2.5e-07},
        {"psnr_noisy_db", 20.1},
        {"psnr_denoised_db", 31.25},
        {"ssim_noisy", 0.4},
        {"ssim_denoised", 0.9},
    };
}

}  // namespace pb
