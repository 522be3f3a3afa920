#include "measure/study/width_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace pb::measure {

namespace {

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
