// Estimates how long a plan takes from earlier results, and how long the rest of a study takes from its points so far.
#pragma once

#include "plan/plan.hpp"
#include "report/results/results_file.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::report {

/// The rates of some points that were measured: one for each kind, and that of all for other kinds.
class Rates {
  public:
    struct Job {
        std::string kind;            // network, precision, engine, device, ranks
        double pixels = 0;           // of the image
        std::optional<double> flop;  // nullopt where the halo or batch is open, and of layers that are not known
    };
    void add(const Job& job, double seconds);
    [[nodiscard]] bool empty() const { return overall_.pixels == 0; }
    /// Whether a point of its kind was measured.
    [[nodiscard]] bool knows(const Job& job) const { return rates_.contains(job.kind); }
    /// Returns the seconds that `job` takes. Needs at least one point.
    [[nodiscard]] double expect(const Job& job) const;

  private:
    struct Rate {
        double flop = 0, flop_seconds = 0;  // of points whose FLOP are known
        double pixels = 0, seconds = 0;     // of all points
        void add(const Job& job, double seconds);
        [[nodiscard]] double expect(const Job& job) const;
    };

    std::map<std::string, Rate> rates_;
    Rate overall_;
};

/// Estimates the time that the rest of a study takes: the predicted FLOP of the remaining points, or their pixels where
/// these are not known, at the rate of the points measured so far. The number of repetitions may differ, and small
/// points spend their time on other things.
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
    std::deque<Rates::Job> left_;
    Rates rates_;
};

/// Formats a duration: "0:09", "12:34", "3:25:45".
[[nodiscard]] std::string clock_text(double seconds);

/// How long a plan takes, from the passes of earlier results.
struct ExpectedTime {
    double passes_s = 0;              // warm-up and timed repetitions, with the forward calls alone
    double around_s = 0;              // reading, noise, loading and preparing the engine, writing
    size_t num_points = 0;            // points of the plan that it covers: those that run a network
    size_t num_earlier = 0;           // measured points from which it follows
    std::pair<int, int> ranks{0, 0};  // fewest and most ranks of these
    size_t num_invalid = 0;           // of the earlier points
    size_t num_unlike = 0;  // points of which none was of the same network, precision, engine, device and ranks

    [[nodiscard]] double seconds() const { return passes_s + around_s; }
};

/// Takes the rates of the earlier points as TimeLeft does, and assumes that the repetitions of a point last for
/// `stop.max_time_s`, unless `stop.min_reps` take longer. Not in it, because results do not say how long they take: the
/// start of the ranks, searches and verification. Ranks are taken to be as many as they were. Returns nothing when no
/// earlier point was measured.
[[nodiscard]] std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier);

}  // namespace pb::report
