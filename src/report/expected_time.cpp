#include "report/expected_time.hpp"

#include "base/statistics.hpp"
#include "config/text.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::report {

TimeLeft::TimeLeft(const std::vector<plan::Point>& points) {
    for (const auto& point : points) {
        const auto& settings = point.settings;
        Job job{fmt::format("{} {} {} {} {}", config::format_setting(settings.network), name_of(settings.dtype),
                            config::format_setting(settings.engine), name_of(point.device), point.num_ranks),
                {}};
        if (const auto prediction = plan::predict(point)) job.flop = prediction->flop;
        left_.push_back(std::move(job));
    }
}

void TimeLeft::Rate::add(const Job& job, double job_seconds) {
    seconds += job_seconds;
    ++points;
    if (!job.flop) return;
    flop += *job.flop;
    flop_seconds += job_seconds;
}

double TimeLeft::Rate::expect(const Job& job) const {
    if (job.flop && flop > 0) return *job.flop * flop_seconds / flop;
    return seconds / static_cast<double>(points);
}

void TimeLeft::finish_next(double seconds) {
    require(!left_.empty(), "TimeLeft: no point is left to finish");
    rates_[left_.front().kind].add(left_.front(), seconds);
    overall_.add(left_.front(), seconds);
    left_.pop_front();
}

void TimeLeft::skip_next() {
    require(!left_.empty(), "TimeLeft: no point is left to skip");
    left_.pop_front();
}

std::optional<double> TimeLeft::seconds(double spent_s) const {
    if (overall_.points == 0) return std::nullopt;
    double total = 0;
    for (const auto& job : left_) {
        const auto own = rates_.find(job.kind);
        const double expected = own != rates_.end() ? own->second.expect(job) : overall_.expect(job);
        total += std::max(0.0, expected - std::exchange(spent_s, 0));
    }
    return total;
}

std::string clock_text(double seconds) {
    const auto whole = std::llround(seconds);
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

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

/// What measured points took beside their passes, as far as it is recorded.
class AroundTimes {
  public:
    void add(const record::PointTrace& trace) {
        starts_s_.push_back(trace.load_s + trace.prepare_s);
        files_s_ += trace.read_s + trace.noise_s + trace.write_s;
        pixels_ += pixels_of(trace.point);
    }
    /// Engines start in the same time whatever the image; files take theirs by the pixel.
    [[nodiscard]] double expect(const plan::Point& point) const {
        return mean(starts_s_) + files_s_ / pixels_ * pixels_of(point);
    }

  private:
    static double pixels_of(const plan::Point& point) { return static_cast<double>(point.source.extent.pixels()); }

    std::vector<double> starts_s_;
    double files_s_ = 0, pixels_ = 0;
};

struct EarlierTimes {
    PointTimes passes;  // the median of each point
    AroundTimes around;
};

EarlierTimes earlier_times(std::span<const ResultsFile> earlier) {
    EarlierTimes times;
    for (const auto& file : earlier) {
        for (const auto& point : file.points) {
            const record::PointTrace& trace = point.trace;
            const bool is_measured = point.summary.status == record::PointStatus::ok && !trace.wall_s.empty();
            if (!is_measured || point.summary.simulated) continue;
            times.passes.add(trace.point, median(trace.wall_s));
            times.around.add(trace);
        }
    }
    return times;
}

/// Returns the time of a pass and of the forward calls alone that follow it. While halo or batch are open, these are
/// not known and left out.
double repetition_seconds(const plan::Point& point, double pass_s) {
    if (point.settings.workload == config::Workload::tiles && (!point.halo || !point.batch)) return pass_s;
    const int64_t num_calls = plan::calls_of_busiest_rank(point);
    return pass_s * (1 + static_cast<double>(point.settings.protocol.forward_calls) / static_cast<double>(num_calls));
}

/// Returns the time of the warm-up and of the timed repetitions.
double repeated_seconds(const plan::Point& point, double pass_s) {
    const config::ProtocolSettings& protocol = point.settings.protocol;
    const double repetition_s = repetition_seconds(point, pass_s);
    double timed_s = std::max(static_cast<double>(protocol.min_reps) * repetition_s, protocol.max_time_s);
    if (protocol.max_reps > 0) timed_s = std::min(timed_s, static_cast<double>(protocol.max_reps) * repetition_s);
    return std::max(static_cast<double>(protocol.warmup_reps) * repetition_s, protocol.warmup_time_s) + timed_s;
}

}  // namespace

std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier) {
    const auto [passes, around] = earlier_times(earlier);
    if (passes.points.empty()) return std::nullopt;
    const auto [fewest, most] = std::ranges::minmax_element(passes.points, {}, &plan::Point::num_ranks);
    ExpectedTime expected{.num_earlier = passes.points.size(), .ranks = {fewest->num_ranks, most->num_ranks}};
    for (const auto& point : plan.points) {
        if (!point.refusal.empty() || plan::is_simulated(point)) continue;
        expected.passes_s += repeated_seconds(point, passes.expect(point));
        expected.around_s += around.expect(point);
        ++expected.num_points;
    }
    return expected;
}

}  // namespace pb::report
