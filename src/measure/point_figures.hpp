// Figures of one point: intervals of its rates, shares of its stages, and where the time of a forward call goes, layer
// by layer. Pure.
#pragma once

#include "measure/summary.hpp"
#include "record/point.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// Returns the 95 % interval of pipeline_s; nothing without enough repetitions.
[[nodiscard]] inline std::optional<Interval> pipeline_interval(const Summary& summary) {
    if (!summary.pipeline_low_s || !summary.pipeline_high_s) return std::nullopt;
    return Interval{*summary.pipeline_low_s, *summary.pipeline_high_s};
}

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

/// One layer; all figures are those of one call.
struct LayerShare : record::LayerProfile {
    double share = 0;  // of the time of the call
    /// The least time by the bounds of the rank over the time that it took. None: a bound that it needs was not
    /// measured.
    std::optional<double> of_bound;
};

/// Where the time of a forward call goes.
struct PointProfile {
    int64_t point = 0;  // index
    std::string label;
    int rank = 0;
    int64_t calls = 0, windows = 0;
    double forward_s = 0;
    std::vector<LayerShare> layers;  // largest first
    double other_s = 0;              // of a call, between its layers and around them
};

/// The profiles of the points that have one, in their order. A layer's bound is the larger of two times: the FLOP
/// that it executes at the faster of matrix product and convolution, and its bytes at the copy rate. With all its data
/// in a cache a layer can be faster than its bound.
[[nodiscard]] std::vector<PointProfile> find_profiles(const StudyPoints& points);

}  // namespace pb::measure
