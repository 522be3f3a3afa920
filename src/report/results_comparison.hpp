// Two versions of a study, each one or several results files (launches), compared point by point. Pure.
#pragma once

#include "measure/comparison.hpp"
#include "report/results_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

struct PointComparison {
    std::string label;
    std::optional<double> old_s, new_s;    // pipeline_s: `typical_time` of the launches
    std::optional<Comparison> comparison;  // none: `missing` says why
    std::string missing;                   // "NEW: oom", "only in OLD", ...
    bool lost = false;                     // OLD has figures, NEW has none
    std::vector<std::string> remarks;      // INVALID figures, other weights, another protocol, ...
};

struct ResultsComparison {
    std::vector<PointComparison> points;           // those of OLD in its order, then those that only NEW has
    std::vector<std::string> environment_changes;  // OLD's first file against every other
    std::vector<std::string> remarks;              // on the files: torn, no end, changed while they were made
    size_t num_old = 1, num_new = 1;               // launches

    [[nodiscard]] int64_t count(Change change) const;
};

/// Points are matched by what they measure (key_of) and, where a file holds equal points, by their order. Throws
/// UsageError when a side has no file.
[[nodiscard]] ResultsComparison compare_results(const std::vector<ResultsFile>& old_files,
                                                const std::vector<ResultsFile>& new_files);

/// One row a point, then remarks, differences of the environment and a line that counts the outcomes.
[[nodiscard]] std::string comparison_table(const ResultsComparison& comparison);

/// The same as Markdown, to paste.
[[nodiscard]] std::string comparison_markdown(const ResultsComparison& comparison);

/// For a gate, one launch a side cannot call a version slower or faster: such points become UNSURE, with the reason.
void judge_by_launches(ResultsComparison& comparison);

/// Points for which `--fail-on slower=<share>` fails: SLOWER by at least `slower` (0.03: 3 %), or measured in OLD and
/// lost in NEW; and that there is no point to compare. In words, one each.
[[nodiscard]] std::vector<std::string> regressions(const ResultsComparison& comparison, double slower);

/// Points of which the launches tell neither that they are slower by `slower` nor that they are not, with the number of
/// launches a side that would. In words, one each.
[[nodiscard]] std::vector<std::string> undecided(const ResultsComparison& comparison, double slower);

}  // namespace pb
