// A study goes on where an earlier session stopped: which points of the plan are finished, and what the results file
// looks like before the first new line. Pure.
#pragma once

#include "plan/plan.hpp"
#include "report/results_file.hpp"

#include <string>
#include <vector>

namespace pb {

/// ok, oom and index_limit: measuring again would say the same. failed, interrupted and skipped points run again.
[[nodiscard]] bool is_finished(PointStatus status);

struct Resumption {
    std::vector<bool> finished;       // of each point of the plan
    std::vector<RecordedPoint> kept;  // the finished points, in the order of the file
    /// The file to go on with: the study's line, the sessions that finished points, those points with the plan's index.
    std::vector<std::string> lines;
    /// What was measured otherwise than the plan would now: "stop.min_reps of dncnn-p256: 3 -> 10".
    std::vector<std::string> changes;
};

/// Points are matched by key and occurrence: equal points of a plan have the same key, and each recorded one counts for
/// one of them. Throws UsageError when the file holds finished points that the plan does not know.
[[nodiscard]] Resumption make_resumption(const ResultsFile& former, const Plan& plan);

}  // namespace pb
