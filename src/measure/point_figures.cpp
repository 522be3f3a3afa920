#include "measure/point_figures.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace pb::measure {

namespace {

constexpr std::array kInPass{record::Stage::gather, record::Stage::h2d,     record::Stage::forward,
                             record::Stage::d2h,    record::Stage::scatter, record::Stage::exchange};

std::vector<StageShare> stage_shares(const Summary& summary) {
    const auto seconds = [&](record::Stage stage) { return summary.stage_s[stage]; };
    if (!seconds(record::Stage::forward)) return {};
    double total = 0;
    for (const record::Stage stage : kInPass) total += seconds(stage).value_or(0);
    std::vector<StageShare> shares;
    for (const record::Stage stage : kInPass)
        if (seconds(stage).value_or(0) > 0) shares.push_back({stage, *seconds(stage) / total});
    return shares;
}

constexpr double kTflop = 1e12;
constexpr double kGigabyte = 1e9;

/// The bounds of the rank that was profiled; none were measured for other ranks than those of the point.
record::BoundsRecord bounds_of(const record::PointTrace& trace) {
    const auto rank = std::ranges::find(trace.ranks, trace.profile->rank, &record::RankTrace::rank);
    return rank == trace.ranks.end() ? record::BoundsRecord{} : rank->bounds;
}

std::optional<double> least_seconds(const record::LayerProfile& layer, const record::BoundsRecord& bounds) {
    const auto& copy = bounds[record::Bound::device_copy_gb_per_s];
    const double tflops =
        std::max(bounds[record::Bound::matmul_tflops].value_or(0), bounds[record::Bound::conv_tflops].value_or(0));
    if (!copy || *copy <= 0 || (layer.flop > 0 && tflops <= 0)) return std::nullopt;
    const double moving_s = layer.bytes / (*copy * kGigabyte);
    return layer.flop > 0 ? std::max(moving_s, layer.executed_flop / (tflops * kTflop)) : moving_s;
}

LayerShare share_of(const record::LayerProfile& layer, double forward_s, const record::BoundsRecord& bounds) {
    return {layer, quotient(layer.seconds, forward_s).value_or(0),
            quotient(least_seconds(layer, bounds), layer.seconds)};
}

PointProfile profile_of(const record::PointTrace& trace) {
    const record::Profile& profile = *trace.profile;
    const record::BoundsRecord bounds = bounds_of(trace);
    PointProfile all{.point = trace.point.index,
                     .label = plan::label_of(trace.point),
                     .rank = profile.rank,
                     .calls = profile.calls,
                     .windows = profile.windows,
                     .forward_s = profile.forward_s,
                     .other_s = profile.forward_s};
    all.layers.reserve(profile.layers.size());
    for (const auto& layer : profile.layers) {
        all.layers.push_back(share_of(layer, profile.forward_s, bounds));
        all.other_s -= layer.seconds;
    }
    std::ranges::stable_sort(all.layers, std::greater{}, &LayerShare::seconds);
    return all;
}

}  // namespace

std::optional<Interval> rate_interval(const std::optional<double>& rate, const Summary& summary) {
    const auto time = pipeline_interval(summary);
    if (!rate || !summary.pipeline_s || !time || time->low <= 0) return std::nullopt;
    return *rate * *summary.pipeline_s / *time;
}

PointFigures point_figures(const Summary& summary) {
    return {summary.index, rate_interval(summary.patches_per_s, summary), rate_interval(summary.images_per_s, summary),
            rate_interval(summary.useful_mpx_per_s, summary), stage_shares(summary)};
}

std::vector<PointProfile> find_profiles(const StudyPoints& points) {
    std::vector<PointProfile> all;
    for (const auto& [trace, summary] : points)
        if (trace->profile) all.push_back(profile_of(*trace));
    return all;
}

}  // namespace pb::measure
