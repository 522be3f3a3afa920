// What follows from the summary of one point alone: intervals of its rates and shares of its stages. Pure.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <vector>

namespace pb {

/// The 95 % interval of pipeline_s; none without enough repetitions.
[[nodiscard]] std::optional<Interval> pipeline_interval(const Summary& summary);

/// The 95 % interval of `rate` = work / pipeline_s: its ends are those of pipeline_s, the long time gives the low rate.
[[nodiscard]] std::optional<Interval> rate_interval(const std::optional<double>& rate, const Summary& summary);

struct StageShare {
    Stage stage = Stage::forward;
    double share = 0;  // of the sum of the stages of a pass; on a GPU they overlap, so it is no share of the time
};

struct PointFigures {
    int64_t point = 0;  // index
    std::optional<Interval> patches_per_s, images_per_s, useful_mpx_per_s;
    std::vector<StageShare>
        stage_shares;  // those that took place, in the order of a pass; none without a forward stage
};

[[nodiscard]] PointFigures point_figures(const Summary& summary);

}  // namespace pb
