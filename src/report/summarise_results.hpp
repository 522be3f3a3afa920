// What the points of a results file say together, computed from its points: files of older versions, and of runs that
// were cut short, have the same analysis as new ones.
#pragma once

#include "measure/study_summary.hpp"
#include "report/results_file.hpp"

namespace pb {

/// In the order of the plan. As the run itself writes it in its line "study_summary".
[[nodiscard]] StudySummary summarise_results(const ResultsFile& results);

/// The same for readers of a file: one without its end recommends no point, because others may be to come.
[[nodiscard]] StudySummary summarise_recorded(const ResultsFile& results);

}  // namespace pb
