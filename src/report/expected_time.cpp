#include "report/expected_time.hpp"

#include "base/statistics.hpp"
#include "config/text.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::report {

namespace {

Rates::Job job_of(const plan::Point& point) {
    const auto& settings = point.settings;
    Rates::Job job{fmt::format("{} {} {} {} {}", config::format_setting(settings.network), name_of(settings.dtype),
                               config::format_setting(settings.engine), name_of(point.device), point.num_ranks),
                   static_cast<double>(point.source.extent.pixels()),
                   {}};
    if (const auto prediction = plan::predict(point)) job.flop = prediction->flop;
    return job;
}

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
    Rates passes;  // the median of each point
    std::vector<int> num_ranks;
    AroundTimes around;
    size_t num_invalid = 0;
};

EarlierTimes earlier_times(std::span<const ResultsFile> earlier) {
    EarlierTimes times;
    for (const auto& file : earlier) {
        for (const auto& point : file.points) {
            const record::PointTrace& trace = point.trace;
            const bool is_measured = point.summary.status == record::PointStatus::ok && !trace.wall_s.empty();
            if (!is_measured || point.summary.simulated) continue;
            times.passes.add(job_of(trace.point), median(trace.wall_s));
            times.num_ranks.push_back(trace.point.num_ranks);
            times.around.add(trace);
            times.num_invalid += point.summary.validity == measure::Validity::valid ? 0 : 1;
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

void Rates::Rate::add(const Job& job, double job_seconds) {
    seconds += job_seconds;
    pixels += job.pixels;
    if (!job.flop) return;
    flop += *job.flop;
    flop_seconds += job_seconds;
}

double Rates::Rate::expect(const Job& job) const {
    if (job.flop && flop > 0) return *job.flop * flop_seconds / flop;
    return job.pixels * seconds / pixels;
}

void Rates::add(const Job& job, double seconds) {
    rates_[job.kind].add(job, seconds);
    overall_.add(job, seconds);
}

double Rates::expect(const Job& job) const {
    const auto own = rates_.find(job.kind);
    return (own != rates_.end() ? own->second : overall_).expect(job);
}

TimeLeft::TimeLeft(const std::vector<plan::Point>& points) {
    for (const auto& point : points) left_.push_back(job_of(point));
}

void TimeLeft::finish_next(double seconds) {
    require(!left_.empty(), "TimeLeft: no point is left to finish");
    rates_.add(left_.front(), seconds);
    left_.pop_front();
}

void TimeLeft::skip_next() {
    require(!left_.empty(), "TimeLeft: no point is left to skip");
    left_.pop_front();
}

std::optional<double> TimeLeft::seconds(double spent_s) const {
    if (rates_.empty()) return std::nullopt;
    double total = 0;
    for (const auto& job : left_) {
        const double expected = rates_.expect(job);
        total += std::max(0.0, expected - std::exchange(spent_s, 0));
    }
    return total;
}

std::string clock_text(double seconds) {
    const auto whole = std::llround(seconds);
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier) {
    const auto [passes, num_ranks, around, num_invalid] = earlier_times(earlier);
    if (passes.empty()) return std::nullopt;
    const auto [fewest, most] = std::ranges::minmax(num_ranks);
    ExpectedTime expected{.num_earlier = num_ranks.size(), .ranks = {fewest, most}, .num_invalid = num_invalid};
    for (const auto& point : plan.points) {
        if (!point.refusal.empty() || plan::is_simulated(point)) continue;
        expected.passes_s += repeated_seconds(point, passes.expect(job_of(point)));
        expected.around_s += around.expect(point);
        expected.num_unlike += passes.knows(job_of(point)) ? 0 : 1;
        ++expected.num_points;
    }
    return expected;
}

}  // namespace pb::report
