// Estimates how long a plan takes, from the passes of earlier results.
#pragma once

#include "plan/plan.hpp"
#include "report/results_file.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace pb::report {

struct ExpectedTime {
    double passes_s = 0;              // warm-up and timed repetitions
    double around_s = 0;              // reading, noise, loading and preparing the engine, writing
    size_t num_points = 0;            // points of the plan that it covers: those that run a network
    size_t num_earlier = 0;           // measured points from which it follows
    std::pair<int, int> ranks{0, 0};  // fewest and most ranks of these

    [[nodiscard]] double seconds() const { return passes_s + around_s; }
};

/// Takes the rates of the earlier points as TimeLeft does, and assumes that the repetitions of a point last for
/// `stop.max_time_s`, unless `stop.min_reps` take longer. Not in it, because results do not say how long they take: the
/// start of the ranks, searches and verification. Ranks are taken to be as many as they were. Returns nothing when no
/// earlier point was measured.
[[nodiscard]] std::optional<ExpectedTime> expected_time(const plan::Plan& plan, std::span<const ResultsFile> earlier);

}  // namespace pb::report
