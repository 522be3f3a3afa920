// Shows the progress of a study on stderr: a line for each point, with the elapsed time and an estimate of the rest. A
// terminal also gets a bar below the lines.
#pragma once

#include "record/point.hpp"
#include "report/time_left.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pb::app {

class Progress {
  public:
    /// `rest` holds those of the `num_points` points that are still to be measured.
    Progress(size_t num_points, const std::vector<plan::Point>& rest);
    ~Progress();  // removes the bar
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void finish(const record::PointTrace& trace);

  private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::string times() const;
    void draw_bar() const;
    void clear_bar() const;

    size_t num_points_;
    size_t finished_;
    report::TimeLeft left_;
    bool on_terminal_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point point_start_ = start_;
};

}  // namespace pb::app
