// Shows the progress of a study on stderr. A terminal gets a bar that overwrites itself and moves from pass to pass
// within a point: nothing is drawn while one is timed. Elsewhere a line follows each tenth of the points, and each half
// minute, with the elapsed time and an estimate of the rest. In both, a line names each of the first points that were
// not measured.
#pragma once

#include "app/terminal.hpp"
#include "base/stopwatch.hpp"
#include "record/point.hpp"
#include "report/expected_time.hpp"
#include "report/tables/progress_text.hpp"
#include "run/progress.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pb::app {

class Progress final : public run::ProgressListener {
  public:
    /// `rest` holds those of the `num_points` points that are still to be measured, in their order.
    Progress(size_t num_points, const std::vector<plan::Point>& rest);

    void begin(run::Activity activity) override;
    void advance(int64_t done, int64_t all) override;
    void finish(const record::PointTrace& trace, measure::Validity validity);

  private:
    /// Whether a point that has just finished with `status` has a line in a log.
    [[nodiscard]] bool is_worth_a_line(record::PointStatus status);
    [[nodiscard]] std::string elapsed() const;
    [[nodiscard]] std::string times(double spent_on_point_s) const;
    [[nodiscard]] std::string time_of_point() const;
    [[nodiscard]] double part_of_study() const;
    void draw_bar();
    void log();

    size_t num_points_;
    size_t finished_, num_measured_ = 0, num_failed_ = 0;
    report::TimeLeft left_;
    std::vector<int64_t> planned_passes_;  // of the rest, the last point first
    int64_t passes_begun_ = 0;             // of the current point
    std::pair<int64_t, int64_t> part_of_pass_{0, 1};
    std::string activity_;
    TerminalLine line_;
    report::Throttle drawing_, logging_;
    double start_s_ = monotonic_seconds();
    double point_start_s_ = start_s_, passes_start_s_ = start_s_;
};

}  // namespace pb::app
