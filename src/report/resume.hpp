// Continues a study where an earlier session stopped: finds the finished points of the plan and makes the results file
// that the new session appends to. Pure.
#pragma once

#include "plan/plan.hpp"
#include "report/results/results_file.hpp"

#include <string>
#include <vector>

namespace pb::report {

struct Resumption {
    std::vector<bool> finished;       // for each point of the plan
    std::vector<RecordedPoint> kept;  // the finished points, in the order of the file
    /// Lines of the file to continue: the study's line, the sessions that finished points, and these points with the
    /// plan's index.
    std::vector<std::string> lines;
    /// Protocol settings that have changed since: "stop.min_reps of dncnn-p256: 3 -> 10".
    std::vector<std::string> changes;
};

/// Matches points by key and order: equal points of a plan have the same key, and each recorded one stands for one of
/// them. Throws UsageError when the file holds finished points that the plan does not have.
[[nodiscard]] Resumption make_resumption(const ResultsFile& former, const plan::Plan& plan);

}  // namespace pb::report
