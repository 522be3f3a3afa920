// Writes results as text for people and for scripts that read a log: the terminal tables, FOM lines and the verdict
// line. For files see jsonl_writer.hpp and csv.hpp.
#pragma once

#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "plan/topology.hpp"
#include "report/text_table.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace pb::report {

/// How much is written: tables fit `width` characters, and of a list of remarks the first `most` entries appear. A line
/// counts the others, and all points of a plan or curves where they are more.
struct TextSize {
    static constexpr size_t kAll = std::numeric_limits<size_t>::max();
    size_t width = kAnyWidth;
    size_t most = kAll;

    /// True for text of a long study: a point, a remark and a finding take one line each, whatever must be left out.
    [[nodiscard]] bool is_short() const { return most != kAll; }
};

/// Writes `finding` as an indented line. In short text it is cut at the width.
[[nodiscard]] std::string finding_line(const std::string& finding, const TextSize& size);

/// Writes the first `size.most` texts as findings, and a line that counts the others.
[[nodiscard]] std::string first_lines(const std::vector<std::string>& texts, const TextSize& size);

/// Marks recommended points in the table and in the text below it.
inline constexpr const char* kStar = "\u2605";

/// Writes what all points share once, then one row for each point, then reasons and notes. Columns are the headline
/// metrics that at least one point has. Recommended points are marked.
[[nodiscard]] std::string points_table(const std::vector<measure::Summary>& summaries,
                                       const std::vector<measure::Recommendation>& recommendations = {},
                                       const TextSize& size = {});

/// Writes the figures that follow from several points: times, memory and largest batches, precisions, devices. Empty
/// when there are none.
[[nodiscard]] std::string study_text(const measure::StudySummary& study, const TextSize& size = {});

/// Writes one row for each rank of one point: host, device, patches, patches/s, wall time, four memory figures. Also
/// says whether NCCL or MPI gathered the figures.
[[nodiscard]] std::string ranks_table(const measure::Summary& summary, const plan::Topology& topology,
                                      size_t width = kAnyWidth);

/// Writes the points of a plan: label, windows, batches, patches per rank, processed/useful pixels, predicted memory
/// and work. With `rank_tflops`, the TFLOP/s that one rank reaches, it also writes the time of a repetition on the
/// busiest rank.
[[nodiscard]] std::string plan_table(const plan::Plan& plan, std::optional<double> rank_tflops = std::nullopt,
                                     const TextSize& size = {});

/// For the points with `halo: auto`: what carried rows, the exact halo and a halo with seams compute and take, and
/// which of them is taken. Empty without such points (context.hpp).
[[nodiscard]] std::string context_table(const plan::Plan& plan, const TextSize& size = {});

/// Explains how that table predicts memory and work: the formula with its numbers for every network, precision and
/// device of the plan.
[[nodiscard]] std::string prediction_text(const plan::Plan& plan);

/// Writes lines "FOM <label>.<metric> <value> <unit>" for the measured headline metrics of every point.
[[nodiscard]] std::string fom_lines(const std::vector<measure::Summary>& summaries);

/// Writes one line: "RESULT: VALID|INVALID|FAILED  <reasons>".
[[nodiscard]] std::string verdict_line(const measure::Verdict& verdict);

/// Returns the labels of the points, in order. Points with equal labels get their index as a suffix ("dncnn-p256#3").
[[nodiscard]] std::vector<std::string> unique_labels(const std::vector<measure::Summary>& summaries);

}  // namespace pb::report
