// Compares two versions of a study point by point. Each version is one or several results files (launches). Pure.
#pragma once

#include "measure/comparison.hpp"
#include "report/results/results_file.hpp"
#include "report/tables/text_table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::report {

struct PointComparison {
    std::string label;
    std::optional<double> old_s, new_s;             // pipeline_s: `typical_time` of the launches
    std::optional<measure::Comparison> comparison;  // none: `missing` gives the reason
    std::string missing;                            // "NEW: oom", "not in NEW", ...
    std::string lost;                               // which figures of OLD NEW has no more, and why; "": none
    bool invalid = false;                           // some figures may not be compared: `remarks` give the reasons
    std::vector<std::string> remarks;               // INVALID figures, other weights, another protocol, ...
    bool doubted = false;                           // other work may explain the times: `comparison` says how
    bool lacks_old_figures = false;                 // NEW has figures; the point is in OLD, too, but without any
};

struct ResultsComparison {
    std::vector<PointComparison> points;           // the points of OLD in its order, then those only in NEW
    std::vector<std::string> environment_changes;  // from OLD's first file to every other file
    std::vector<std::string> remarks;              // about files: torn, no end, changed during the study
    size_t num_old = 1, num_new = 1;               // number of launches

    [[nodiscard]] int64_t count(measure::Change change) const;
};

/// Matches points by what they measure (PointIdentities) and, where a file holds equal points, by their order. Throws
/// UsageError when a side has no file.
[[nodiscard]] ResultsComparison compare_results(const std::vector<ResultsFile>& old_files,
                                                const std::vector<ResultsFile>& new_files);

/// Writes one row for each point, then remarks, differences of the environment, and a line that counts the outcomes.
/// The table fits `width` characters.
[[nodiscard]] std::string comparison_table(const ResultsComparison& comparison, size_t width = kAnyWidth);

/// Writes the same as Markdown, to paste.
[[nodiscard]] std::string comparison_markdown(const ResultsComparison& comparison);

// `compare --fail-on` (results_gate.cpp): what a comparison of launches says of a new version. Pure.

/// Prepares a comparison for a gate. A single launch on a side that has figures of a point cannot show that a version
/// is slower or faster: such points become UNSURE, with the reason.
void judge_by_launches(ResultsComparison& comparison);

/// Describes each point for which `--fail-on slower=<share>` fails: it is SLOWER by at least `slower` (0.03: 3 %), or
/// measured in OLD and lost in NEW, or broken in a launch of NEW and in none of OLD. Also reports when there is no
/// point to compare.
[[nodiscard]] std::vector<std::string> regressions(const ResultsComparison& comparison, double slower);

/// Whether more launches would decide about a point of which undecided() says that it has too few.
[[nodiscard]] bool would_launches_decide(const ResultsComparison& comparison, double slower);

/// Describes each point whose launches show neither that it is slower by `slower` nor that it is not, one launch of a
/// side among them, or whose figures are INVALID or doubted, or that OLD could not measure. Adds the number of launches
/// on each side that would decide it.
[[nodiscard]] std::vector<std::string> undecided(const ResultsComparison& comparison, double slower);

}  // namespace pb::report
