// Continues a study where an earlier session stopped: finds the finished points of the plan and makes the results file
// that the new session appends to. Pure.
#pragma once

#include "plan/plan.hpp"
#include "report/results/results_file.hpp"

#include <string>
#include <vector>

namespace pb::report {

/// A finished point and that of the plan for which it stands. Both belong to the arguments of make_resumption.
struct KeptPoint {
    const RecordedPoint* recorded = nullptr;
    const plan::Point* planned = nullptr;
};

struct Resumption {
    std::vector<bool> finished;   // for each point of the plan
    std::vector<KeptPoint> kept;  // in the order of the file
    /// Lines of the file to continue: the study's line, the sessions that finished points, and these points with the
    /// plan's index.
    std::vector<std::string> lines;
    /// Settings that have changed since and figures depend on: "stop.min_reps of dncnn-p256: 3 -> 10", "exchange: mpi
    /// -> nccl".
    std::vector<std::string> changes;
};

/// Matches points by what they measure (PointIdentities) and by order: of equal points, each recorded one stands for
/// one of the plan. Throws UsageError when the file holds finished points that the plan does not have.
[[nodiscard]] Resumption make_resumption(const ResultsFile& former, const plan::Plan& plan);

}  // namespace pb::report
