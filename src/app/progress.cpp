#include "app/progress.hpp"

#include "base/controls.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace pb::app {

namespace {

constexpr double kLineIntervalS = 1;

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

/// The passes after which a point ends, unless its time or the width of its interval asks for more.
int64_t planned_passes(const plan::Point& point) {
    const config::ProtocolSettings& protocol = point.settings.protocol;
    return protocol.warmup_reps + protocol.min_reps;
}

}  // namespace

Progress::Progress(size_t num_points, const std::vector<plan::Point>& rest)
    : num_points_(num_points),
      finished_(num_points - rest.size()),
      left_(rest),
      throttle_(kUpdateIntervalS, 0),
      logging_(kLineIntervalS, 0) {
    std::transform(rest.rbegin(), rest.rend(), std::back_inserter(planned_passes_), planned_passes);
    draw_bar();
}

void Progress::begin(run::Activity activity) {
    const bool is_pass = activity == run::Activity::network;
    if (is_pass) ++passes_begun_;
    activity_ = is_pass ? fmt::format("pass {}", passes_begun_) : std::string(name_of(activity));
    if (throttle_.is_due(seconds_between(start_, Clock::now()))) draw_bar();
}

void Progress::finish(const record::PointTrace& trace) {
    const auto now = Clock::now();
    const bool measured =
        trace.status != record::PointStatus::skipped && trace.status != record::PointStatus::interrupted;
    if (measured)
        left_.finish_next(seconds_between(point_start_, now));
    else
        left_.skip_next();
    point_start_ = now;
    ++finished_;
    planned_passes_.pop_back();
    passes_begun_ = 0;
    activity_.clear();
    line_.clear();
    const bool is_due = logging_.is_due(seconds_between(start_, now));
    if (is_due || finished_ == num_points_ || trace.status != record::PointStatus::ok)
        spdlog::info("[{}/{}] {}: {}{}; {}", finished_, num_points_, plan::label_of(trace.point), name_of(trace.status),
                     trace.reason.empty() ? "" : ", " + without_controls(trace.reason, ' '), times(0));
    draw_bar();
}

std::string Progress::times(double spent_on_point_s) const {
    const auto left = left_.seconds(spent_on_point_s);
    return report::clock_text(seconds_between(start_, Clock::now())) + " elapsed" +
           (left ? ", about " + report::clock_text(*left) + " left" : "");
}

double Progress::part_of_study() const {
    const int64_t passes_done = std::max<int64_t>(0, passes_begun_ - 1);
    const double part = planned_passes_.empty() ? 0 : report::part_of_point(passes_done, planned_passes_.back());
    return (static_cast<double>(finished_) + part) / static_cast<double>(num_points_);
}

void Progress::draw_bar() {
    if (!line_.is_on_terminal() || num_points_ == 0) return;
    const std::string figures =
        fmt::format("{}/{}  {}{}{}", finished_, num_points_, times(seconds_between(point_start_, Clock::now())),
                    activity_.empty() ? "" : "; ", activity_);
    line_.draw(report::bar_line("", part_of_study(), {figures, ""}, line_.columns()));
}

}  // namespace pb::app
