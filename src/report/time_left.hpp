// How long the rest of a study is likely to take: predicted FLOP of the points to come, at the rate of those measured
// so far. An estimate: repetitions may differ in number, and small points spend their time on other things.
#pragma once

#include "plan/plan.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb {

class TimeLeft {
  public:
    /// `points` are still to be measured, in this order.
    explicit TimeLeft(const std::vector<Point>& points);

    /// The next point took `seconds`, all in all.
    void finish_next(double seconds);
    /// The next point was not measured: says nothing of the rate.
    void skip_next();

    /// Nothing before the first point is finished.
    [[nodiscard]] std::optional<double> seconds() const;

  private:
    struct Job {
        std::string kind;  // network, precision, device, ranks: points of one kind run at one rate
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

/// "0:09", "12:34", "3:25:45".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace pb
