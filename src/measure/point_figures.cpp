#include "measure/point_figures.hpp"

#include <array>

namespace pb::measure {

namespace {

constexpr std::array kInPass{record::Stage::gather, record::Stage::h2d,     record::Stage::forward,
                             record::Stage::d2h,    record::Stage::scatter, record::Stage::exchange};

std::vector<StageShare> stage_shares(const Summary& summary) {
    const auto seconds = [&](record::Stage stage) { return summary.stage_s[static_cast<size_t>(stage)]; };
    if (!seconds(record::Stage::forward)) return {};
    double total = 0;
    for (const record::Stage stage : kInPass) total += seconds(stage).value_or(0);
    std::vector<StageShare> shares;
    for (const record::Stage stage : kInPass)
        if (seconds(stage).value_or(0) > 0) shares.push_back({stage, *seconds(stage) / total});
    return shares;
}

}  // namespace

std::optional<Interval> pipeline_interval(const Summary& summary) {
    if (!summary.pipeline_low_s || !summary.pipeline_high_s) return std::nullopt;
    return Interval{*summary.pipeline_low_s, *summary.pipeline_high_s};
}

std::optional<Interval> rate_interval(const std::optional<double>& rate, const Summary& summary) {
    const auto time = pipeline_interval(summary);
    if (!rate || !summary.pipeline_s || !time || time->low <= 0) return std::nullopt;
    return Interval{*rate * *summary.pipeline_s / time->high, *rate * *summary.pipeline_s / time->low};
}

PointFigures point_figures(const Summary& summary) {
    return {summary.index, rate_interval(summary.patches_per_s, summary), rate_interval(summary.images_per_s, summary),
            rate_interval(summary.useful_mpx_per_s, summary), stage_shares(summary)};
}

}  // namespace pb::measure
