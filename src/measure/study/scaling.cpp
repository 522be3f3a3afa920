#include "measure/study/scaling.hpp"

#include "base/text.hpp"
#include "measure/comparison.hpp"
#include "measure/point_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
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
    if (const auto change =
            find_change(points, [](const record::PointTrace& trace) { return plan::halo_text(trace.point); }))
        warnings.push_back("halo: auto takes another way along the study (by ranks: " + *change +
                           "); give one of them for the same work on any ranks");
    std::string invalid;
    for (const auto& measured : points)
        if (measured.summary->validity != Validity::valid)
            add_item(invalid, std::to_string(measured.trace->point.num_ranks), ", ");
    if (!invalid.empty())
        warnings.push_back(
            fmt::format("INVALID at {} ranks: speed-ups that compare these points are not reliable", invalid));
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

constexpr double kJump = 1.25;  // limit of peak ratio / width ratio, up or down (1 / this)
constexpr size_t kFewestWidths = 3;

/// A point of a series.
struct WidePoint : StudyPoint {
    [[nodiscard]] int64_t width() const { return trace->point.source.extent.w; }
    [[nodiscard]] double peak_mib() const { return *summary->allocated_peak_mib; }
};

JumpCause cause_of(const WidePoint& before, const WidePoint& after, const MemoryJump& jump) {
    if (plan::path_of(before.trace->point) == plan::path_of(after.trace->point)) return JumpCause::not_path;
    const bool same_way = jump.pixels_ratio && (jump.peak_ratio > 1) == (*jump.pixels_ratio > 1);
    return same_way ? JumpCause::path : JumpCause::not_pixels;
}

std::optional<MemoryJump> jump_between(const WidePoint& before, const WidePoint& after) {
    MemoryJump jump{before.summary->index, after.summary->index, after.peak_mib() / before.peak_mib()};
    const double widths = static_cast<double>(after.width()) / static_cast<double>(before.width());
    jump.excess = jump.peak_ratio / widths;
    if (jump.excess <= kJump && jump.excess >= 1 / kJump) return std::nullopt;
    jump.pixels_ratio = quotient(after.summary->pixels_per_forward, before.summary->pixels_per_forward);
    jump.cause = cause_of(before, after, jump);
    return jump;
}

void mark_largest(std::vector<WidthSeries>& all) {
    MemoryJump* largest = nullptr;
    const auto size = [](const MemoryJump& jump) { return std::abs(std::log(jump.excess)); };
    for (auto& series : all)
        for (auto& jump : series.jumps)
            if (largest == nullptr || size(jump) > size(*largest)) largest = &jump;
    if (largest != nullptr) largest->is_largest = true;
}

WidthSeries make_series(const PointGroup& group, const std::vector<WidePoint>& points) {
    WidthSeries series{{group.key, group.label, {}}, {}};
    for (const auto& point : points) series.all.points.push_back(point.summary->index);
    for (size_t i = 1; i < points.size(); ++i)
        if (const auto jump = jump_between(points[i - 1], points[i])) series.jumps.push_back(*jump);
    return series;
}

bool has_peak(const Summary& summary) {
    return summary.status == record::PointStatus::ok && summary.allocated_peak_mib.value_or(0) > 0;
}

/// True when no width was measured at two heights. One line may then go through all points.
bool height_follows_width(const StudyPoints& points) {
    std::map<int64_t, int64_t> height_of;
    return std::ranges::all_of(points, [&](const StudyPoint& point) {
        const Extent& extent = point.trace->point.source.extent;
        return !has_peak(*point.summary) || height_of.emplace(extent.w, extent.h).first->second == extent.h;
    });
}

size_t count_widths(const std::vector<WidePoint>& points) {
    size_t count = points.empty() ? 0 : 1;
    for (size_t i = 1; i < points.size(); ++i)
        if (points[i].width() != points[i - 1].width()) ++count;
    return count;
}

}  // namespace

std::vector<Scaling> find_scalings(const StudyPoints& points) {
    std::vector<Scaling> all;
    for (const auto& group : group_points(points, "ranks")) {
        const StudyPoints members = points_of(group, points);
        if (members.size() < 2) continue;
        Scaling scaling;
        const config::PointSettings& settings = members.front().trace->point.settings;
        const bool grows = settings.image.height_per_rank > 0 || settings.replicate;
        scaling.kind = grows ? ScalingKind::weak : ScalingKind::strong;
        scaling.label = group.label;
        scaling.simulated = members.front().summary->simulated;
        for (const auto& member : members) scaling.points.push_back(make_point(members.front(), member));
        scaling.warnings = find_warnings(members);
        all.push_back(std::move(scaling));
    }
    return all;
}

std::vector<WidthSeries> find_width_series(const StudyPoints& points) {
    constexpr std::array<std::string_view, 2> kWidth{"image.width", "image.crop_width"};
    constexpr std::array<std::string_view, 4> kExtent{"image.width", "image.crop_width", "image.height",
                                                      "image.crop_height"};
    std::vector<WidthSeries> all;
    for (const auto& group :
         height_follows_width(points) ? group_points(points, kExtent) : group_points(points, kWidth)) {
        std::vector<WidePoint> members;
        for (const size_t i : group.members)
            if (has_peak(*points[i].summary)) members.push_back({points[i]});
        std::ranges::stable_sort(members, {}, &WidePoint::width);
        if (count_widths(members) >= kFewestWidths) all.push_back(make_series(group, members));
    }
    mark_largest(all);
    return all;
}

}  // namespace pb::measure
