// Traces of points that differ in one setting, with figures chosen by hand.
#pragma once

#include "three_rank_trace.hpp"

#include <vector>

namespace pb {

/// Makes one rank with 8 windows, six repetitions of `pass_s` and calls of `call_s` seconds; `peak_mib` are allocated.
inline record::PointTrace sample_point(int64_t batch, double pass_s, double call_s, int64_t peak_mib) {
    record::PointTrace trace;
    trace.point = traced_point();
    trace.point.index = batch;
    trace.point.num_ranks = 1;
    trace.point.settings.batch.count = batch;
    trace.point.batch = batch;
    trace.point.key = plan::key_of(trace.point);
    trace.num_patches = 8;
    trace.useful_pixels = trace.processed_pixels = 1e6;
    trace.verification.outcome = record::Verification::Outcome::passed;
    trace.verification.window_error = 1e-6;
    record::RankTrace rank;
    rank.num_windows = rank.num_patches = 8;
    rank.num_batches = 8 / batch;
    for (const double factor : {0.9, 0.95, 1.0, 1.0, 1.05, 1.1}) {
        rank.wall_s.push_back(pass_s * factor);
        rank.forward_call_s.push_back(call_s * factor);
        rank.stage_s.emplace_back();
        rank.cpu_s.push_back(pass_s);
    }
    trace.wall_s = rank.wall_s;
    rank.memory.allocated_peak = peak_mib << 20;
    trace.ranks = {rank};
    return trace;
}

/// Makes batches 4, 1 and 2, in this order. Their peak is 100 MiB plus 30 MiB per window.
inline std::vector<record::PointTrace> batch_sweep() {
    return {sample_point(4, 8, 3.2, 220), sample_point(1, 16, 1.6, 130), sample_point(2, 9.6, 2, 160)};
}

/// Makes a point with `batch: largest` under a cap of 715 MiB. Its doublings predict 20; it found 4.
inline record::PointTrace searched_point() {
    record::PointTrace trace = sample_point(4, 8, 3.2, 700);
    trace.point.settings.memory_limit_mib = 715;
    trace.batch_search = record::BatchSearch{.tries = {{1, true, int64_t{130} << 20},
                                                       {2, true, int64_t{160} << 20},
                                                       {4, true, int64_t{220} << 20},
                                                       {8, false, 0},
                                                       {6, true, int64_t{900} << 20}},
                                             .found = 4,
                                             .limited_by = record::BatchLimit::memory};
    return trace;
}

}  // namespace pb
