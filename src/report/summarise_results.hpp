// Computes the StudySummary of a results file from its points. Files of older versions, and of runs that were cut
// short, get the same analysis as new ones.
#pragma once

#include "measure/study_summary.hpp"
#include "report/results_file.hpp"

namespace pb::report {

/// Uses the order of the plan. The result equals the line "study_summary" that the run writes.
[[nodiscard]] measure::StudySummary summarise_results(const ResultsFile& results);

/// The same for readers of a file. A file without its end recommends no point, because others may follow.
[[nodiscard]] measure::StudySummary summarise_recorded(const ResultsFile& results);

}  // namespace pb::report
