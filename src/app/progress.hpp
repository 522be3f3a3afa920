// Shows the progress of a study on stderr: a line for each point, with the elapsed time and an estimate of the rest. A
// terminal also gets a bar below the lines. Within a point it moves from pass to pass: nothing is drawn while one is
// timed.
#pragma once

#include "app/terminal_line.hpp"
#include "record/point.hpp"
#include "report/progress_text.hpp"
#include "report/time_left.hpp"
#include "run/progress.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pb::app {

class Progress final : public run::ProgressListener {
  public:
    /// `rest` holds those of the `num_points` points that are still to be measured, in their order.
    Progress(size_t num_points, const std::vector<plan::Point>& rest);

    void begin(run::Activity activity) override;
    void advance(int64_t /*done*/, int64_t /*all*/) override {}
    /// Prints a line about the point. Between ok points of less than a second some lines are left out.
    void finish(const record::PointTrace& trace);

  private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::string times(double spent_on_point_s) const;
    [[nodiscard]] double part_of_study() const;
    void draw_bar();

    size_t num_points_;
    size_t finished_;
    report::TimeLeft left_;
    std::vector<int64_t> planned_passes_;  // of the rest, the last point first
    int64_t passes_begun_ = 0;             // of the current point
    std::string activity_;
    TerminalLine line_;
    report::Throttle throttle_, logging_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point point_start_ = start_;
};

}  // namespace pb::app
