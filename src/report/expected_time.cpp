#include "report/expected_time.hpp"

#include "base/statistics.hpp"
#include "report/time_left.hpp"

#include <algorithm>
#include <vector>

namespace pb::report {

namespace {

/// Measured points, and the median pass of each.
struct Passes {
    std::vector<plan::Point> points;
    std::vector<double> seconds;
};

Passes passes_of(std::span<const ResultsFile> earlier) {
    Passes passes;
    for (const auto& file : earlier) {
        for (const auto& point : file.points) {
            const bool is_measured = point.summary.status == record::PointStatus::ok && !point.trace.wall_s.empty();
            if (!is_measured || point.summary.simulated) continue;
            passes.points.push_back(point.trace.point);
            passes.seconds.push_back(median(point.trace.wall_s));
        }
    }
    return passes;
}

/// Returns the time of a pass of `point` at the rates of `passes`.
double pass_seconds(const plan::Point& point, const Passes& passes) {
    std::vector<plan::Point> points = passes.points;
    points.push_back(point);
    TimeLeft left(points);
    for (const double seconds : passes.seconds) left.finish_next(seconds);
    return left.seconds().value_or(0);
}

/// Returns the time of the warm-up and of the timed repetitions.
double repeated_seconds(const config::ProtocolSettings& protocol, double pass_s) {
    double timed_s = std::max(static_cast<double>(protocol.min_reps) * pass_s, protocol.max_time_s);
    if (protocol.max_reps > 0) timed_s = std::min(timed_s, static_cast<double>(protocol.max_reps) * pass_s);
    return std::max(static_cast<double>(protocol.warmup_reps) * pass_s, protocol.warmup_time_s) + timed_s;
}

}  // namespace

std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier) {
    const Passes passes = passes_of(earlier);
    if (passes.points.empty()) return std::nullopt;
    ExpectedTime expected{.num_earlier = passes.points.size()};
    for (const auto& point : plan.points) {
        if (!point.refusal.empty() || plan::is_simulated(point)) continue;
        expected.seconds += repeated_seconds(point.settings.protocol, pass_seconds(point, passes));
        ++expected.num_points;
    }
    return expected;
}

}  // namespace pb::report
