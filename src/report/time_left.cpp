#include "report/time_left.hpp"

#include "config/text.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::report {

TimeLeft::TimeLeft(const std::vector<plan::Point>& points) {
    for (const auto& point : points) {
        const auto& settings = point.settings;
        Job job{fmt::format("{} {} {} {}", config::format_setting(settings.network), name_of(settings.dtype),
                            name_of(point.device), point.num_ranks),
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

}  // namespace pb::report
