#include "app/progress.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>

namespace pb::app {

namespace {

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Progress::Progress(size_t num_points, const std::vector<plan::Point>& rest)
    : num_points_(num_points), finished_(num_points - rest.size()), left_(rest), on_terminal_(::isatty(2) == 1) {
    draw_bar();
}

Progress::~Progress() { clear_bar(); }

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
    clear_bar();
    spdlog::info("[{}/{}] {}: {}{}; {}", finished_, num_points_, plan::label_of(trace.point), name_of(trace.status),
                 trace.reason.empty() ? "" : ", " + trace.reason, times());
    draw_bar();
}

std::string Progress::times() const {
    const auto left = left_.seconds();
    return report::clock_text(seconds_between(start_, Clock::now())) + " elapsed" +
           (left ? ", about " + report::clock_text(*left) + " left" : "");
}

void Progress::draw_bar() const {
    if (!on_terminal_ || num_points_ == 0) return;
    constexpr size_t kWidth = 30;
    const size_t full = kWidth * finished_ / num_points_;
    fmt::print(stderr, "\r[{}{}] {}/{}  {}", std::string(full, '#'), std::string(kWidth - full, '.'), finished_,
               num_points_, times());
    std::fflush(stderr);
}

void Progress::clear_bar() const {
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
}

}  // namespace pb::app
