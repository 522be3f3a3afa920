#include "report/results_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::report {

namespace {

bool is_slower(const PointComparison& point, double slower) {
    return point.comparison->change == measure::Change::slower && point.comparison->ratio >= 1 + slower;
}

/// One launch of a side may differ from others of its version, so such a point stays undecided. Equal samples are
/// decided: they are the same.
bool is_undecided(const PointComparison& point, double slower) {
    if (is_slower(point, slower)) return false;
    if (point.invalid || point.doubted) return true;
    if (point.comparison->is_identity()) return false;
    const auto& interval = point.comparison->ratio_interval;
    return point.comparison->fewest_launches == 1 || !interval || interval->high >= 1 + slower;
}

std::string why_undecided(const PointComparison& point, double slower) {
    if (point.invalid) return "its figures are INVALID, for the reasons above";
    const measure::Comparison& comparison = *point.comparison;
    if (point.doubted) return comparison.reason;
    if (comparison.fewest_launches == 1)
        return fmt::format("{:+.1f} % by one launch of a side, which may be how launches differ; it needs {} a side",
                           100 * (comparison.ratio - 1), measure::kFewestLaunches);
    const double most = comparison.ratio_interval ? comparison.ratio_interval->high : HUGE_VAL;
    const double spread = comparison.launch_spread.value_or(0);
    return fmt::format(
        "the interval of the change reaches {:+.1f} %, as launches of one version spread by {:.1f} %; it needs about "
        "{} a side",
        100 * (most - 1), 100 * spread, measure::launches_needed(spread, slower));
}

}  // namespace

void judge_by_launches(ResultsComparison& comparison) {
    for (auto& point : comparison.points) {
        if (!point.comparison || point.comparison->fewest_launches > 1) continue;
        if (point.comparison->change != measure::Change::slower && point.comparison->change != measure::Change::faster)
            continue;
        point.comparison->change = measure::Change::unsure;
        point.comparison->reason = "one launch of a side: a slower launch cannot be told from a slower version";
    }
}

std::vector<std::string> undecided(const ResultsComparison& comparison, double slower) {
    std::vector<std::string> all;
    for (const auto& point : comparison.points) {
        if (point.comparison && is_undecided(point, slower))
            all.push_back(fmt::format("{}: {}", point.label, why_undecided(point, slower)));
        if (point.lacks_old_figures) all.push_back(fmt::format("{}: {}", point.label, point.missing));
    }
    return all;
}

bool would_launches_decide(const ResultsComparison& comparison, double slower) {
    return std::ranges::any_of(comparison.points, [&](const PointComparison& point) {
        return point.comparison && is_undecided(point, slower) && !point.invalid && !point.doubted &&
               point.comparison->fewest_launches < measure::kFewestLaunches;
    });
}

std::vector<std::string> regressions(const ResultsComparison& comparison, double slower) {
    std::vector<std::string> all;
    for (const auto& point : comparison.points) {
        if (!point.lost.empty()) all.push_back(fmt::format("{}: {}", point.label, point.lost));
        if (point.comparison && is_slower(point, slower))
            all.push_back(fmt::format("{}: SLOWER by {:.1f} %", point.label, 100 * (point.comparison->ratio - 1)));
    }
    const auto is_compared = [](const PointComparison& point) { return point.comparison.has_value(); };
    if (all.empty() && std::ranges::none_of(comparison.points, is_compared))
        all.emplace_back("nothing was compared: no point has figures in both OLD and NEW");
    return all;
}

}  // namespace pb::report
