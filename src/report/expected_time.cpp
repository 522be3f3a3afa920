#include "report/expected_time.hpp"

#include "base/statistics.hpp"
#include "report/time_left.hpp"

#include <algorithm>
#include <vector>

namespace pb::report {

namespace {

/// What each of some measured points took.
struct PointTimes {
    std::vector<plan::Point> points;
    std::vector<double> seconds;

    void add(const plan::Point& point, double took_s) {
        points.push_back(point);
        seconds.push_back(took_s);
    }
    /// Returns what `point` takes at the rates of these.
    [[nodiscard]] double expect(const plan::Point& point) const {
        std::vector<plan::Point> all = points;
        all.push_back(point);
        TimeLeft left(all);
        for (const double took_s : seconds) left.finish_next(took_s);
        return left.seconds().value_or(0);
    }
};

/// Returns what a point took beside its passes, as far as it is recorded.
double around_seconds(const record::PointTrace& trace) {
    return trace.read_s + trace.noise_s + trace.load_s + trace.prepare_s + trace.write_s;
}

struct EarlierTimes {
    PointTimes passes;  // the median of each point
    PointTimes around;
};

EarlierTimes earlier_times(std::span<const ResultsFile> earlier) {
    EarlierTimes times;
    for (const auto& file : earlier) {
        for (const auto& point : file.points) {
            const record::PointTrace& trace = point.trace;
            const bool is_measured = point.summary.status == record::PointStatus::ok && !trace.wall_s.empty();
            if (!is_measured || point.summary.simulated) continue;
            times.passes.add(trace.point, median(trace.wall_s));
            times.around.add(trace.point, around_seconds(trace));
        }
    }
    return times;
}

/// Returns the time of the warm-up and of the timed repetitions.
double repeated_seconds(const config::ProtocolSettings& protocol, double pass_s) {
    double timed_s = std::max(static_cast<double>(protocol.min_reps) * pass_s, protocol.max_time_s);
    if (protocol.max_reps > 0) timed_s = std::min(timed_s, static_cast<double>(protocol.max_reps) * pass_s);
    return std::max(static_cast<double>(protocol.warmup_reps) * pass_s, protocol.warmup_time_s) + timed_s;
}

}  // namespace

std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier) {
    const auto [passes, around] = earlier_times(earlier);
    if (passes.points.empty()) return std::nullopt;
    const auto [fewest, most] = std::ranges::minmax_element(passes.points, {}, &plan::Point::num_ranks);
    ExpectedTime expected{.num_earlier = passes.points.size(), .ranks = {fewest->num_ranks, most->num_ranks}};
    for (const auto& point : plan.points) {
        if (!point.refusal.empty() || plan::is_simulated(point)) continue;
        expected.passes_s += repeated_seconds(point.settings.protocol, passes.expect(point));
        expected.around_s += around.expect(point);
        ++expected.num_points;
    }
    return expected;
}

}  // namespace pb::report
