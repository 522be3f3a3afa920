// Estimates the time that the rest of a study takes: the predicted FLOP of the remaining points, at the rate of the
// points measured so far. The number of repetitions may differ, and small points spend their time on other things.
#pragma once

#include "plan/plan.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb::report {

class TimeLeft {
  public:
    /// `points` are the points still to be measured, in this order.
    explicit TimeLeft(const std::vector<plan::Point>& points);

    /// Records that the next point took `seconds` in total.
    void finish_next(double seconds);
    /// Records that the next point was not measured, so it does not change the rate.
    void skip_next();

    /// Returns the estimate, or nothing before the first point is finished. The next point has taken `spent_s` already.
    [[nodiscard]] std::optional<double> seconds(double spent_s = 0) const;

  private:
    struct Job {
        std::string kind;  // network, precision, device, ranks: one rate for each kind
        std::optional<double> flop;
    };
    struct Rate {
        double flop = 0, flop_seconds = 0;  // of points whose FLOP are known
        double seconds = 0;                 // of all points
        int64_t points = 0;
        void add(const Job& job, double seconds);
        [[nodiscard]] double expect(const Job& job) const;
    };

    std::deque<Job> left_;
    std::map<std::string, Rate> rates_;
    Rate overall_;
};

/// Formats a duration: "0:09", "12:34", "3:25:45".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace pb::report
