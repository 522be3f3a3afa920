#include "report/comparison_doubts.hpp"

#include "base/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace pb::report {

namespace {

bool is_invalid(const RecordedPoint* point) {
    return has_figures(*point) && point->summary.validity == measure::Validity::invalid;
}

/// Adds figures that may not be compared.
void add_invalid(const Side& side, std::vector<std::string>& remarks) {
    std::map<std::string, int> launches;  // by their reasons
    for (const auto* point : side.launches)
        if (is_invalid(point)) ++launches[fmt::format("{}", fmt::join(point->summary.reasons, "; "))];
    const size_t all = side.launches.size();
    for (const auto& [reasons, count] : launches)
        remarks.push_back(fmt::format("INVALID in {}{}: {}",
                                      all == 1 ? "" : fmt::format("{} of {} launches of ", count, all), side.name,
                                      reasons));
}

/// Adds a remark on other work on the machine, which may have slowed this side down.
void add_foreign_work(const Side& side, std::vector<std::string>& remarks) {
    for (const auto* point : side.launches)
        if (const std::string foreign = record::foreign_work_of(point->trace.ranks); !foreign.empty())
            return remarks.push_back(fmt::format("{} was not measured alone: {}", side.name, foreign));
}

/// Whether others had far more of the processors than the ranks of a launch: then times say nothing of what was run.
bool is_crowded(const Side& side) {
    constexpr double kMostCrowding = 2;
    return std::ranges::any_of(side.launches, [](const RecordedPoint* point) {
        return has_figures(*point) && record::crowding_of(point->trace) >= kMostCrowding;
    });
}

/// Share of the time of its calls for which a rank had a core, the mean of the launches; none where one does not tell.
std::optional<double> core_share_of(const Side& side) {
    constexpr double kLeastSeconds = 0.1;  // of one launch; a side has several
    std::vector<double> shares;
    for (const auto* point : side.launches) {
        if (!has_figures(*point)) continue;
        const auto share = record::core_share_of(point->trace, kLeastSeconds);
        if (!share) return std::nullopt;
        shares.push_back(*share);
    }
    return shares.empty() ? std::nullopt : std::optional(mean(shares));
}

/// The point must have a comparison.
void doubt(PointComparison& point, std::string reason) {
    point.doubted = true;
    point.comparison->change = measure::Change::unsure;
    point.comparison->reason = std::move(reason);
}

/// One side lacked cores, and by so much that this alone is half of the difference, or more.
void doubt_cores(const Match& match, PointComparison& point) {
    constexpr double kShort = 0.9, kExplained = 0.5;
    const auto before = core_share_of(match.before), after = core_share_of(match.after);
    if (!before || !after || std::min(*before, *after) >= kShort) return;
    if (std::log(*before / *after) / std::log(point.comparison->ratio) < kExplained) return;
    doubt(point, fmt::format("a rank had a core for {:.0f} % of the time of its forward calls in OLD, for {:.0f} % in "
                             "NEW: measure again with cores of its own for each rank",
                             100 * *before, 100 * *after));
}

/// `point` has a comparison of two sides.
void doubt_sides(const Match& match, PointComparison& point) {
    const bool differs = point.comparison->change != measure::Change::same;
    if (differs) doubt_cores(match, point);
    for (const Side* side : {&match.before, &match.after}) {
        if (differs) add_foreign_work(*side, point.remarks);
        if (is_crowded(*side))
            doubt(point, fmt::format("others had more than twice the CPU time of the ranks of {}: measure it "
                                     "again on a quiet machine",
                                     side->name));
        if (std::ranges::all_of(side->launches, is_invalid))
            doubt(point, fmt::format("figures of {} are INVALID: they are not to be compared", side->name));
    }
}

}  // namespace

bool has_figures(const RecordedPoint& point) {
    const auto& wall_s = point.trace.wall_s;
    return point.summary.status == record::PointStatus::ok &&
           point.summary.verification != record::Verification::Outcome::failed && !wall_s.empty() &&
           std::ranges::all_of(wall_s, [](double s) { return std::isfinite(s) && s > 0; });
}

void add_doubts(const Match& match, PointComparison& point) {
    for (const Side* side : {&match.before, &match.after}) {
        add_invalid(*side, point.remarks);
        point.invalid |= std::ranges::any_of(side->launches, is_invalid);
    }
    if (point.comparison && !point.comparison->is_identity()) doubt_sides(match, point);
}

}  // namespace pb::report
