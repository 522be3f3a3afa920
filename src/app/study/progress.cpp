#include "app/study/progress.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

namespace pb::app {

namespace {

constexpr size_t kMostNamed = 3;  // of the points that were not measured

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
      drawing_(kUpdateIntervalS, 0),
      logging_(kLogIntervalS, kLogIntervalS) {
    std::transform(rest.rbegin(), rest.rend(), std::back_inserter(planned_passes_), planned_passes);
    draw_bar();
}

void Progress::begin(run::Activity activity) {
    const bool is_pass = activity == run::Activity::network;
    if (is_pass && passes_begun_++ == 0) passes_start_s_ = monotonic_seconds();
    if (is_pass) part_of_pass_ = {0, 1};
    activity_ = is_pass ? fmt::format("pass {}", passes_begun_) : std::string(name_of(activity));
    if (drawing_.is_due(monotonic_seconds() - start_s_)) draw_bar();
    log();
}

void Progress::advance(int64_t done, int64_t all) {
    part_of_pass_ = {done, std::max<int64_t>(all, 1)};  // 0 of 1 without windows
    log();
}

/// A line each half minute costs a pass nothing that could be measured.
void Progress::log() {
    const double now_s = monotonic_seconds();
    if (line_.is_on_terminal() || finished_ == num_points_ || !logging_.is_due(now_s - start_s_)) return;
    const auto [done, all] = part_of_pass_;
    const std::string part = passes_begun_ > 0 && done > 0 ? fmt::format(", {} %", 100 * done / all) : "";
    print_timed(fmt::format("point {} of {}: {}{}; {}", finished_ + 1, num_points_, activity_, part,
                            times(now_s - point_start_s_)));
}

void Progress::finish(const record::PointTrace& trace, measure::Validity validity) {
    const double now_s = monotonic_seconds();
    const bool measured = trace.status == record::PointStatus::ok;
    if (measured)
        left_.finish_next(now_s - point_start_s_);
    else
        left_.skip_next();
    std::string reason = trace.reason.empty() ? "" : ", " + without_controls(trace.reason, ' ');
    if (trace.status == record::PointStatus::ok && validity != measure::Validity::valid)
        reason += fmt::format(", but {}", name_of(validity));
    if (trace.status == record::PointStatus::interrupted && num_measured_ == 0) reason += "; " + time_of_point();
    num_measured_ += measured ? 1 : 0;
    point_start_s_ = now_s;
    ++finished_;
    planned_passes_.pop_back();
    passes_begun_ = 0;
    activity_.clear();
    line_.clear();
    const bool goes_on = !record::is_cut_short(trace.status);
    if (is_worth_a_line(trace.status))
        print_timed(fmt::format("[{}/{}] {}: {}{}; {}", finished_, num_points_, plan::label_of(trace.point),
                                name_of(trace.status), reason, goes_on ? times(0) : elapsed()));
    draw_bar();
}

bool Progress::is_worth_a_line(record::PointStatus status) {
    const auto tenth_of = [&](size_t done) { return 10 * done / num_points_; };
    const bool is_tenth = tenth_of(finished_) > tenth_of(finished_ - 1) && !line_.is_on_terminal();
    return status == record::PointStatus::ok ? is_tenth : num_failed_++ < kMostNamed || is_tenth;
}

/// How long the current point would have taken, as far as its passes show it.
std::string Progress::time_of_point() const {
    const double now_s = monotonic_seconds();
    const auto [done, all] = part_of_pass_;
    const double passes = static_cast<double>(std::max<int64_t>(0, passes_begun_ - 1)) +
                          static_cast<double>(done) / static_cast<double>(all);
    const int64_t planned = planned_passes_.back();
    if (passes_begun_ == 0 || passes <= 0 || passes_begun_ > planned)
        return "a point takes longer than " + report::clock_text(now_s - point_start_s_);
    const double pass_s = (now_s - passes_start_s_) / passes;
    const double point_s = passes_start_s_ - point_start_s_ + pass_s * static_cast<double>(planned);
    return fmt::format(
        "this point would take about {} ({} passes of about {:.3g} s, before verification): allow more, or "
        "take a smaller image or network",
        report::clock_text(point_s), planned, pass_s);
}

std::string Progress::elapsed() const { return report::clock_text(monotonic_seconds() - start_s_) + " elapsed"; }

std::string Progress::times(double spent_on_point_s) const {
    const auto left = left_.seconds(spent_on_point_s);
    return elapsed() + (left ? ", about " + report::clock_text(*left) + " left" : "");
}

double Progress::part_of_study() const {
    const int64_t passes_done = std::max<int64_t>(0, passes_begun_ - 1);
    const double part = planned_passes_.empty() ? 0 : report::part_of_point(passes_done, planned_passes_.back());
    return (static_cast<double>(finished_) + part) / static_cast<double>(num_points_);
}

void Progress::draw_bar() {
    if (!line_.is_on_terminal() || num_points_ == 0) return;
    const std::string figures =
        fmt::format("{}/{}  {}{}{}", finished_, num_points_, times(monotonic_seconds() - point_start_s_),
                    activity_.empty() ? "" : "; ", activity_);
    line_.draw(report::bar_line("", part_of_study(), {figures, ""}, line_.columns()));
}

}  // namespace pb::app
