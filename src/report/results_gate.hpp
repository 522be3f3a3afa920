// `compare --fail-on`: what a comparison of launches says of a new version. Pure.
#pragma once

#include "report/results_comparison.hpp"

#include <string>
#include <vector>

namespace pb::report {

/// Prepares a comparison for a gate. One launch on each side cannot show that a version is slower or faster: such
/// points become UNSURE, with the reason.
void judge_by_launches(ResultsComparison& comparison);

/// Describes each point for which `--fail-on slower=<share>` fails: it is SLOWER by at least `slower` (0.03: 3 %), or
/// measured in OLD and lost in NEW, or broken in a launch of NEW and in none of OLD. Also reports when there is no
/// point to compare.
[[nodiscard]] std::vector<std::string> regressions(const ResultsComparison& comparison, double slower);

/// Describes each point whose launches show neither that it is slower by `slower` nor that it is not, or whose figures
/// are INVALID. Adds the number of launches on each side that would decide it.
[[nodiscard]] std::vector<std::string> undecided(const ResultsComparison& comparison, double slower);

}  // namespace pb::report
