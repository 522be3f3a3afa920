// Writes results as text for people and for scripts that read a log: the terminal tables, FOM lines and the verdict
// line. For files see results/jsonl_writer.hpp and export/exports.hpp.
#pragma once

#include "measure/point_figures.hpp"
#include "measure/study/recommendation.hpp"
#include "measure/study/scaling.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/tuning.hpp"
#include "measure/verdict.hpp"
#include "plan/plan.hpp"
#include "plan/rows.hpp"
#include "plan/topology.hpp"
#include "report/tables/text_table.hpp"

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
/// which of them is taken. Empty without such points (plan/context.hpp).
[[nodiscard]] std::string context_table(const plan::Plan& plan, const TextSize& size = {});

/// Explains how that table predicts memory and work: the formula with its numbers for every network, precision and
/// device of the plan.
[[nodiscard]] std::string prediction_text(const plan::Plan& plan);

/// Writes lines "FOM <label>.<metric> <value> <unit>" for the measured headline metrics of every point.
[[nodiscard]] std::string fom_lines(const std::vector<measure::Summary>& summaries);

/// Writes one line: "RESULT: <result>  <reasons>".
[[nodiscard]] std::string result_line(std::string_view result, const std::vector<std::string>& reasons);
/// The same of a study: VALID, INVALID or FAILED.
[[nodiscard]] std::string verdict_line(const measure::Verdict& verdict);

/// Returns the labels of the points, in order. Points with equal labels get their index as a suffix ("dncnn-p256#3").
[[nodiscard]] std::vector<std::string> unique_labels(const std::vector<measure::Summary>& summaries);

/// Returns "halo exchanged, slabs of 256 x 1024: 498.2 MiB of weights + ..", all of which are exact.
[[nodiscard]] std::string exchanged_formula_of(const plan::Point& point, double weights);

/// Writes which rows each rank owns and what travels, for each point of a plan with `halo: exchanged`; empty when there
/// is none. With `link` the seconds that the messages take, with `rank_tflops`, too, how that compares with the
/// arithmetic.
[[nodiscard]] std::string exchange_text(const plan::Plan& plan, const std::optional<plan::Link>& link,
                                        std::optional<double> rank_tflops);

/// Writes where the time of a forward call goes: one row for each of the slowest layers, largest first, one for all
/// smaller layers, and one for the rest of the call ("other").
[[nodiscard]] std::string layers_table(const measure::PointProfile& profile, size_t width = kAnyWidth);

/// Writes speed-up, efficiency, parts of the time and costs over ranks.
[[nodiscard]] std::string scaling_text(const measure::Scaling& scaling, size_t width);

/// Writes what a search for the fastest way to denoise an image tried, and why each candidate is out: the chosen one,
/// then those that came furthest, the fastest first. The peak of the whole image is predicted, that of the crop
/// measured. `image`: of the whole image. Where something was measured, a line counts the candidates that were not,
/// unless `verbose` asks for their rows.
[[nodiscard]] std::string tuning_table(const measure::TuningTrials& trials, std::optional<size_t> chosen, Extent image,
                                       bool verbose, size_t width = kAnyWidth);

// The parts of the table of points, for the terminal and for Markdown.

struct PointsColumn {
    std::string heading;
    TextTable::Align align;
    std::vector<std::string> cells;  // one for each point
    std::vector<std::string> brief;  // of a narrow table; empty: the same
    int need = 0;                    // a narrow table leaves out columns from 1 on, in this order; 0: it keeps them
};

[[nodiscard]] TextTable table_of(const std::vector<PointsColumn>& columns);

struct PointsTable {
    std::string shared;                 // settings and context common to all points; may be empty
    std::vector<PointsColumn> columns;  // with one cell for each point
    std::vector<std::string> remarks;   // reasons and notes, each with its points
    struct Limited {
        std::string points;    // "host-bound: dncnn-p64, dncnn-p96"
        std::string counted;   // "host-bound: 2 points"
        std::string evidence;  // for the clearest case
        std::string advice;    // "try: ..."
    };
    std::vector<Limited> limits;  // what limits the points, grouped by class
};

/// Needs at least one point. Recommended points are marked with a star.
[[nodiscard]] PointsTable make_points_table(const std::vector<measure::Summary>& summaries,
                                            const std::vector<measure::Recommendation>& recommendations);

}  // namespace pb::report
