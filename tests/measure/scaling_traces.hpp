// Traces of one study over ranks, with figures chosen by hand.
#pragma once

#include "plan/prediction.hpp"
#include "three_rank_trace.hpp"

namespace pb {

/// Makes ten windows of 64 x 64 in batches of one and six repetitions with a median of `pass_s` seconds and a mean of
/// 1.025 times that. In a pass, a rank gathers for 0.1 and runs the network for 0.6 of the time. Every second rank is
/// ready after 0.8 of it. The processes use the CPU for a hundredth of the time.
inline record::PointTrace ranks_trace(int num_ranks, double pass_s) {
    record::PointTrace trace;
    trace.point = traced_point();
    trace.point.index = num_ranks;
    trace.point.num_ranks = num_ranks;
    trace.point.settings.ranks.count = num_ranks;
    trace.point.settings.patch = 64;
    trace.point.halo = 0;
    trace.point.batch = 1;
    trace.point.source.extent = {640, 64};
    trace.prediction = plan::predict(trace.point);
    trace.useful_pixels = 640 * 64;
    trace.num_patches = 10;
    trace.verification.outcome = record::Verification::Outcome::passed;
    for (const double factor : {0.9, 0.95, 1.0, 1.0, 1.05, 1.25}) trace.wall_s.push_back(pass_s * factor);
    for (int number = 0; number < num_ranks; ++number) {
        record::RankTrace& rank = trace.ranks.emplace_back();
        rank.rank = number;
        rank.num_windows = rank.num_patches = rank.num_batches = shard(10, number, num_ranks).size();
        for (const double wall_s : trace.wall_s) {
            rank.wall_s.push_back(number % 2 == 1 ? 0.8 * wall_s : wall_s);
            rank.cpu_s.push_back(wall_s);
            record::StageSeconds stages{};
            stages[static_cast<size_t>(record::Stage::gather)] = 0.1 * wall_s;
            stages[static_cast<size_t>(record::Stage::forward)] = 0.6 * wall_s;
            rank.stage_s.push_back(stages);
        }
    }
    return trace;
}

}  // namespace pb
