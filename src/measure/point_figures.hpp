// Computes figures from the summary of one point: intervals of its rates and shares of its stages. Pure.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <vector>

namespace pb::measure {

/// Returns the 95 % interval of pipeline_s; nothing without enough repetitions.
[[nodiscard]] std::optional<Interval> pipeline_interval(const Summary& summary);

/// Returns the 95 % interval of `rate` = work / pipeline_s, from the ends of the interval of pipeline_s: the long time
/// gives the low rate.
[[nodiscard]] std::optional<Interval> rate_interval(const std::optional<double>& rate, const Summary& summary);

struct StageShare {
    record::Stage stage = record::Stage::forward;
    double share = 0;  // of the sum of a pass's stages, not of its time: they overlap on a GPU
};

struct PointFigures {
    int64_t point = 0;  // index
    std::optional<Interval> patches_per_s, images_per_s, useful_mpx_per_s;
    std::vector<StageShare> stage_shares;  // the stages that ran, in pass order; none without a forward stage
};

[[nodiscard]] PointFigures point_figures(const Summary& summary);

}  // namespace pb::measure
