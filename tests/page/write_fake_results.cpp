// Writes made-up results as a machine with GPUs would, so that the report's charts can be tested without one. A study
// file gives the points, and formulas give their times and memory. Everything is labelled as made up.
#include "config/load_yaml.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "report/results/jsonl_writer.hpp"
#include "support/study_points.hpp"

#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_facts.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace pb {
namespace {

constexpr int64_t kDeviceMib = 8192;
constexpr int kRanks = 2;

/// Makes two ranks on one host, each with its own device.
plan::Topology topology() {
    plan::Topology all = plan::make_local_topology(kRanks);
    for (auto& place : all.ranks) {
        place.host = "madeup";
        place.device = {DeviceKind::cuda, place.rank};
        place.device_name = "Made-up GPU";
        place.device_uuid = "GPU-made-up-" + std::to_string(place.rank);
        place.memory_bytes = kDeviceMib << 20;
        place.affinity = std::to_string(place.rank);
    }
    return all;
}

record::Environment environment() {
    record::Environment environment;
    environment.started_at = "2026-01-01T00:00:00Z";
    environment.command_line = "write_fake_results (no measurement)";
    environment.version = "0.1.0";
    environment.git_sha = "0000000";
    environment.compiler = "none";
    environment.build_type = "none";
    environment.host_processor = "made-up processor";
    environment.libraries = {{"NCCL", "2.28.9", "2.28.9"}};
    environment.variables = {{"OMP_NUM_THREADS", "1"}};
    environment.topology = topology();
    return environment;
}

double peak_flops(const plan::Point& point) {
    if (point.device == DeviceKind::cpu) return 1e12;
    switch (point.settings.dtype) {
        case Precision::fp32: return 50e12;
        case Precision::tf32: return 160e12;
        default: return 300e12;
    }
}

/// A call has a launch cost, approaches the peak rate, and gets slightly slower for large batches.
double call_seconds(const plan::Point& point, double pixels, double slowness) {
    const double flop = 2.0 * network::network_facts(point.settings.network, 3).mac_per_pixel * pixels;
    const double rising = 1 + 0.004 * static_cast<double>(point.batch.value_or(1));
    return slowness * (2e-4 + 1.6 * flop / peak_flops(point) * rising);
}

/// Returns a factor within 1 % of 1. It varies by repetition and is the same in every run.
double jitter(int64_t point, int rank, size_t repetition) {
    return 1 + 0.01 * std::sin(static_cast<double>(7 * point + 3 * rank) + 2.4 * static_cast<double>(repetition));
}

int64_t batches_of(const plan::Point& point, int rank) {
    if (point.settings.workload == config::Workload::whole) return rank == 0 ? 1 : 0;
    const Range windows = plan::windows_of_rank(point, plan::tile_grid(point), rank);
    return static_cast<int64_t>(plan::cut_batches(windows, *point.batch).size());
}

record::StageSeconds stages_of(const plan::Point& point, double forward_s) {
    record::StageSeconds stages{};
    const auto set = [&](record::Stage stage, double share) { stages[static_cast<size_t>(stage)] = share * forward_s; };
    set(record::Stage::gather, 0.06);
    set(record::Stage::forward, 1);
    set(record::Stage::scatter, 0.05);
    set(record::Stage::exchange, 0.02);
    if (point.device == DeviceKind::cuda) {
        set(record::Stage::h2d, 0.08);
        set(record::Stage::d2h, 0.07);
    }
    return stages;
}

void watch(record::RankTrace& rank) {
    TelemetryRecord& record = rank.telemetry;
    record.first_on_node = rank.rank == 0;
    record[Meter::observed_s] = 4;
    record[Meter::energy_j] = 400 + 20.0 * rank.rank;
    record[Meter::thermal_s] = record[Meter::power_cap_s] = record[Meter::hardware_slowdown_s] = 0;
    record[Meter::other_processes] = 0;
    for (int i = 0; i <= 40; ++i) {
        auto& sample = record.samples.emplace_back();
        sample.at_s = 0.1 * i;
        sample[Gauge::sm_clock_mhz] = 1980 - 60 * rank.rank - (i > 20 ? 90 : 0);
        sample[Gauge::memory_clock_mhz] = 2619;
        sample[Gauge::temperature_c] = 41 + 0.5 * i + 3 * rank.rank;
        sample[Gauge::power_w] = 300 + 200 * (1 - std::exp(-0.2 * i)) + 8 * std::sin(i);
        sample[Gauge::utilisation_percent] = i < 2 ? 40 : 96 - 2 * rank.rank;
    }
}

/// Places batches as two slots overlap them: one is computed while the next is copied in and the last is copied out.
record::Timeline timeline_of(const record::RankTrace& rank, double call_s) {
    constexpr int64_t kMostBatches = 20;
    record::Timeline timeline;
    timeline.clock_error_s = rank.rank == 0 ? 0 : 2.5e-6;
    const int64_t shown = std::min(rank.num_batches, kMostBatches);
    timeline.num_dropped = 5 * (rank.num_batches - shown);
    double forward_end_s = 0.2 * call_s;
    for (int64_t batch = 0; batch < shown; ++batch) {
        const double begin_s = forward_end_s + 0.02 * call_s * (1 + rank.rank);
        forward_end_s = begin_s + call_s;
        const auto add = [&](record::Stage stage, double from, double length) {
            timeline.spans.push_back({stage, batch, begin_s + from * call_s, begin_s + (from + length) * call_s});
        };
        add(record::Stage::gather, -0.16, 0.06);
        add(record::Stage::h2d, -0.1, 0.08);
        add(record::Stage::forward, 0, 1);
        add(record::Stage::d2h, 1, 0.07);
        add(record::Stage::scatter, 1.08, 0.05);
    }
    const double end_s = timeline.spans.empty() ? 0 : timeline.spans.back().end_s;
    timeline.spans.push_back({record::Stage::exchange, -1, end_s, end_s + 0.1 * call_s});
    return timeline;
}

record::RankTrace rank_of(const plan::Point& point, int rank, const plan::Prediction& prediction, double slowness) {
    record::RankTrace trace;
    trace.rank = rank;
    trace.host = "madeup";
    trace.num_batches = batches_of(point, rank);
    const bool tiles = point.settings.workload == config::Workload::tiles;
    trace.num_windows = tiles ? plan::windows_of_rank(point, plan::tile_grid(point), rank).size() : trace.num_batches;
    trace.num_patches = trace.num_windows;
    const double call_s = call_seconds(point, static_cast<double>(prediction.pixels_per_forward), slowness);
    const auto batches = static_cast<double>(trace.num_batches);
    for (size_t repetition = 0; repetition < 9; ++repetition) {
        const double factor = jitter(point.index, rank, repetition);
        trace.stage_s.push_back(stages_of(point, batches * call_s * factor));
        trace.wall_s.push_back((1e-4 + 1.15 * batches * call_s) * factor);
        trace.cpu_s.push_back(0.9 * trace.wall_s.back());
        trace.forward_call_s.push_back(call_s * factor);
    }
    trace.memory.allocated_peak = std::llround(prediction.peak_mib * kMiB * 1.01);
    trace.memory.reserved_peak = std::llround(prediction.peak_mib * kMiB * 1.2);
    trace.memory.device_used = std::llround((prediction.peak_mib * 1.2 + 600) * kMiB);
    trace.memory.host_peak = int64_t{900} << 20;
    if (point.device == DeviceKind::cuda) watch(trace);
    trace.timeline = timeline_of(trace, call_s);
    return trace;
}

double rounding_of(Precision dtype) {
    switch (dtype) {
        case Precision::fp32: return 1e-6;
        case Precision::tf32: return 4e-4;
        case Precision::fp16: return 6e-4;
        case Precision::bf16: return 5e-3;
    }
    return 0;
}

/// Makes four squares where patches join, like the probes of a large image. Differences decrease away from the seams.
std::vector<record::SeamRegion> seam_map(int64_t patch, double largest) {
    constexpr int64_t kEdge = 64, kCell = 4, kCells = kEdge / kCell;
    std::vector<record::SeamRegion> map;
    for (const auto& [row, column] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 2), std::pair(3, 1)}) {
        record::SeamRegion& region = map.emplace_back();
        region.part = {row * patch - kEdge / 2, column * patch - kEdge / 2, {kEdge, kEdge}};
        region.cell_px = kCell;
        for (int64_t y = 0; y < kCells; ++y)
            for (int64_t x = 0; x < kCells; ++x) {
                const auto from_seam =
                    static_cast<double>(std::min(std::abs(2 * y + 1 - kCells), std::abs(2 * x + 1 - kCells)));
                region.errors.push_back(largest * std::exp(0.25 * (1 - from_seam)) / static_cast<double>(row));
            }
    }
    return map;
}

void verify(record::PointTrace& trace) {
    record::Verification& verification = trace.verification;
    verification.outcome = record::Verification::Outcome::passed;
    verification.windows_checked = 4;
    verification.window_error = rounding_of(trace.point.settings.dtype);
    verification.window_tolerance = verification.seam_tolerance = 0.1;
    if (trace.point.settings.workload == config::Workload::tiles) {
        verification.seam_error = *trace.point.halo >= trace.point.facts().exact_halo ? 0 : 0.08;
        verification.seam_map = seam_map(trace.point.settings.patch, *verification.seam_error);
    }
    trace.quality = record::Quality{20.1, 31.25 - 20 * *verification.window_error, 0.4, 0.9, 3.0e6};
}

record::PointTrace trace_of(const plan::Point& point, double slowness) {
    record::PointTrace trace;
    trace.point = point;
    trace.prediction = plan::predict(point);
    if (!trace.prediction) {
        trace.status = record::PointStatus::refused;
        trace.reason = point.refusal;
        return trace;
    }
    if (point.device == DeviceKind::cuda && trace.prediction->peak_mib > static_cast<double>(kDeviceMib)) {
        trace.status = record::PointStatus::oom;
        trace.reason = "made up: the device has " + std::to_string(kDeviceMib) + " MiB";
        return trace;
    }
    trace.reduction = "NCCL";
    for (int rank = 0; rank < point.num_ranks; ++rank)
        trace.ranks.push_back(rank_of(point, rank, *trace.prediction, slowness));
    for (size_t repetition = 0; repetition < trace.ranks.front().wall_s.size(); ++repetition) {
        double slowest = 0;
        for (const auto& rank : trace.ranks) slowest = std::max(slowest, rank.wall_s[repetition]);
        trace.wall_s.push_back(slowest * 1.01);
    }
    trace.useful_pixels = static_cast<double>(point.source.extent.pixels());
    trace.processed_pixels =
        trace.prediction->flop / (2.0 * network::network_facts(point.settings.network, 3).mac_per_pixel);
    trace.num_patches = point.settings.workload == config::Workload::tiles ? plan::tile_grid(point).num_patches() : 1;
    verify(trace);
    return trace;
}

void write(const char* study, const char* file, double slowness) {
    const plan::Plan plan = plan::make_plan(config::load_config(study, {}), topology(),
                                            [](const config::ImageSettings&) { return plan::SourceFacts{}; });
    std::vector<record::PointTrace> traces;
    std::vector<measure::Summary> summaries;
    report::JsonlWriter writer(file, plan.study, environment());
    for (const plan::Point& point : plan.points) {
        traces.push_back(trace_of(point, slowness));
        summaries.push_back(measure::summarise(traces.back()));
        writer.write_point(traces.back(), summaries.back());
    }
    writer.write_study_summary(measure::summarise_study(measure::study_points(traces, summaries), topology()));
    writer.write_end(measure::judge(summaries, false));
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        std::fputs("usage: write_fake_results STUDY.yaml RESULTS.jsonl [how many times as long everything takes]\n",
                   stderr);
        return 2;
    }
    try {
        pb::write(argv[1], argv[2], argc == 4 ? std::strtod(argv[3], nullptr) : 1);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
