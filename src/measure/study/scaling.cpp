#include "measure/study/scaling.hpp"

#include "base/text.hpp"
#include "measure/comparison.hpp"
#include "measure/point_figures.hpp"
#include "measure/study/point_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace pb::measure {

namespace {

double sum_of(const std::vector<double>& samples) { return std::accumulate(samples.begin(), samples.end(), 0.0); }

/// Returns the seconds that `rank` waited for the slowest rank in each repetition.
std::vector<double> waiting_of(const record::PointTrace& trace, const record::RankTrace& rank) {
    std::vector<double> waiting;
    for (size_t i = 0; i < rank.wall_s.size(); ++i) {
        double slowest = 0;
        for (const auto& other : trace.ranks) slowest = std::max(slowest, other.wall_s[i]);
        waiting.push_back(slowest - rank.wall_s[i]);
    }
    return waiting;
}

std::vector<TimePart> parts_of(const record::PointTrace& trace) {
    const double all = sum_of(trace.wall_s) * static_cast<double>(trace.ranks.size());
    std::vector<TimePart> parts;
    double rest = 1;
    const auto add = [&](std::string_view name, double seconds) {
        if (seconds > 0) parts.push_back({std::string(name), seconds / all});
        rest -= seconds / all;
    };
    for (const auto& [stage, name] : enum_table<record::Stage>()) {
        double seconds = 0;
        for (const auto& rank : trace.ranks)
            for (const auto& stages : rank.stage_s) seconds += stages[stage];
        add(name, seconds);
    }
    double waiting = 0;
    for (const auto& rank : trace.ranks) waiting += sum_of(waiting_of(trace, rank));
    add("waiting", waiting);
    if (rest > 0) parts.push_back({"other", rest});
    return parts;
}

void add_speedup(const StudyPoint& base, const StudyPoint& measured, ScalingPoint& point) {
    const auto times = compare_times({base.trace->wall_s}, {measured.trace->wall_s});
    const double work = measured.trace->useful_pixels / base.trace->useful_pixels;
    point.speedup = work / times.ratio;
    if (times.ratio_interval) point.speedup_range = work / *times.ratio_interval;
    point.ideal = static_cast<double>(measured.trace->point.num_ranks) / base.trace->point.num_ranks;
    point.efficiency = point.speedup / point.ideal;
    if (point.speedup_range) point.efficiency_range = *point.speedup_range / point.ideal;
    if (!base.trace->prediction || !measured.trace->prediction) return;
    point.bound = work * base.trace->prediction->flop_busiest_rank / measured.trace->prediction->flop_busiest_rank;
    point.efficiency_bound = *point.bound / point.ideal;
    point.of_bound = point.speedup / *point.bound;
}

/// Adds the costs of the program other than the network.
void add_costs(const StudyPoint& measured, ScalingPoint& point) {
    const record::PointTrace& trace = *measured.trace;
    const Summary& summary = *measured.summary;
    double cpu_s = 0;
    int64_t most_windows = 1;
    for (const auto& rank : trace.ranks) {
        cpu_s += sum_of(rank.cpu_s);
        most_windows = std::max(most_windows, rank.num_windows);
    }
    if (cpu_s > 0) point.host_cores = cpu_s / sum_of(trace.wall_s);
    point.cpu_per_patch_s = summary.cpu_per_patch_s;
    point.host_peak_mib = summary.host_peak_mib;
    if (summary.repetition_s)
        point.between_s = *summary.repetition_s - sum_of(trace.wall_s) / static_cast<double>(trace.wall_s.size());
    const auto& devices_s = summary.stage_s[record::Stage::forward];
    if (!summary.simulated || !devices_s) return;
    point.simulated_s = devices_s;
    point.beyond_bound = point.pipeline_s / *devices_s - 1;
    point.overhead_per_window_s = (point.pipeline_s - *devices_s) / static_cast<double>(most_windows);
}

ScalingPoint make_point(const StudyPoint& base, const StudyPoint& measured) {
    ScalingPoint point;
    point.point = measured.summary->index;
    point.num_ranks = measured.trace->point.num_ranks;
    point.pipeline_s = measured.summary->pipeline_s.value();
    point.pipeline_range = pipeline_interval(*measured.summary);
    point.binding = measured.trace->binding;
    point.parts = parts_of(*measured.trace);
    for (const auto& rank : measured.trace->ranks)
        point.waiting.push_back({rank.rank, median(waiting_of(*measured.trace, rank))});
    add_speedup(base, measured, point);
    add_costs(measured, point);
    return point;
}

/// Returns the values by number of ranks when they differ: "1: 2 cores a rank, 4: 2 cores shared by 4 ranks".
template <class Value>
std::optional<std::string> find_change(const StudyPoints& points, Value value) {
    std::set<std::string> values;
    std::string text;
    for (const auto& measured : points) {
        values.insert(value(*measured.trace));
        add_item(text, fmt::format("{}: {}", measured.trace->point.num_ranks, value(*measured.trace)), "; ");
    }
    return values.size() > 1 ? std::optional(text) : std::nullopt;
}

std::vector<std::string> find_warnings(const StudyPoints& points) {
    std::vector<std::string> warnings;
    if (const auto change = find_change(points, [](const record::PointTrace& trace) { return trace.binding; }))
        warnings.push_back("the cores of a rank change along the study (by ranks: " + *change +
                           "); bind ranks to cores of their own, as launch/ranks.sh does");
    if (const auto change = find_change(
            points, [](const record::PointTrace& trace) { return std::to_string(trace.point.batch.value_or(0)); }))
        warnings.push_back(
            "the batch changes along the study, because ranks have fewer windows than it holds (by ranks: " + *change +
            "); take a smaller batch or a larger image");
    return warnings;
}

/// Returns the points sorted by number of ranks. Of several with the same number, only the first is kept.
StudyPoints points_of(const PointGroup& group, const StudyPoints& points) {
    StudyPoints members;
    for (const size_t i : group.members)
        if (points[i].summary->pipeline_s && points[i].trace->useful_pixels > 0) members.push_back(points[i]);
    const auto num_ranks = [](const StudyPoint& point) { return point.trace->point.num_ranks; };
    std::ranges::stable_sort(members, {}, num_ranks);
    const auto repeated = std::ranges::unique(members, {}, num_ranks);
    members.erase(repeated.begin(), repeated.end());
    return members;
}

}  // namespace

std::vector<Scaling> find_scalings(const StudyPoints& points) {
    std::vector<Scaling> all;
    for (const auto& group : group_points(points, "ranks")) {
        const StudyPoints members = points_of(group, points);
        if (members.size() < 2) continue;
        Scaling scaling;
        const bool grows = members.front().trace->point.settings.image.height_per_rank > 0;
        scaling.kind = grows ? ScalingKind::weak : ScalingKind::strong;
        scaling.label = group.label;
        scaling.simulated = members.front().summary->simulated;
        for (const auto& member : members) scaling.points.push_back(make_point(members.front(), member));
        scaling.warnings = find_warnings(members);
        all.push_back(std::move(scaling));
    }
    return all;
}

}  // namespace pb::measure
