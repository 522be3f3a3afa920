// Results as text for people and for scripts that read a log: the terminal tables, FOM lines and the verdict line.
// Files are in jsonl_writer.hpp and csv.hpp.
#pragma once

#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Marks the point to take, in the table and in the text below it.
inline constexpr const char* kStar = "\u2605";

/// What all points share said once, then one row a point with the headline metrics as columns (those that no point has
/// are left out), then reasons and notes. The points to take are marked.
[[nodiscard]] std::string points_table(const std::vector<Summary>& summaries,
                                       const std::vector<Recommendation>& recommendations = {});

/// What several points say together: times, memory and largest batches, precisions, devices. Empty for nothing.
[[nodiscard]] std::string study_text(const StudySummary& study);

/// One row a rank of one point: host, device, patches, patches/s, wall time, memory four ways; says whether NCCL or MPI
/// gathered it.
[[nodiscard]] std::string ranks_table(const Summary& summary, const Topology& topology);

/// The points of a plan: label, windows, batches, patches per rank, processed/useful, predicted memory and work; with
/// `rank_tflops`, the TFLOP/s that one rank reaches, also the time of a repetition (that of the busiest rank).
[[nodiscard]] std::string plan_table(const Plan& plan, std::optional<double> rank_tflops = std::nullopt);

/// How the memory and the work in that table are predicted: the formula with its numbers for every network, precision
/// and device of the plan.
[[nodiscard]] std::string prediction_text(const Plan& plan);

/// Lines "FOM <label>.<metric> <value> <unit>" of the headline metrics of every point; none for what was not measured.
[[nodiscard]] std::string fom_lines(const std::vector<Summary>& summaries);

/// "RESULT: VALID|INVALID|FAILED  <reasons>": one line.
[[nodiscard]] std::string verdict_line(const Verdict& verdict);

/// Labels of the points, in order. Points that share one get their index as an ending ("dncnn-p256#3").
[[nodiscard]] std::vector<std::string> unique_labels(const std::vector<Summary>& summaries);

}  // namespace pb
