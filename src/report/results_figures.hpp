// Figures computed from the points of a results file: its StudySummary, and the table T(b) of a simulated device.
#pragma once

#include "config/settings.hpp"
#include "measure/study/study_summary.hpp"
#include "report/results/results_file.hpp"

#include <string>

namespace pb::report {

/// Computes the StudySummary from the points, in the order of the plan. Files of older versions, and of runs that were
/// cut short, get the same analysis as new ones. The result equals the line "study_summary" that the run writes.
[[nodiscard]] measure::StudySummary summarise_results(const ResultsFile& results);

/// The same for readers of a file. A file without its end recommends no point, because others may follow.
[[nodiscard]] measure::StudySummary summarise_recorded(const ResultsFile& results);

/// Returns the value of the setting `timed.table`, T(b) of a simulated device. It uses the points of `results` that ran
/// the same network in the same precision on the same windows (patch and halo), on any number of ranks. The time for
/// each batch is the median call of the slowest rank of the first point with that batch. All must have one
/// engine, device, layout, number of threads and name of weights. Throws UsageError where they have not, and where
/// there is no such point.
[[nodiscard]] std::string measured_call_table(const ResultsFile& results, const config::PointSettings& simulated);

}  // namespace pb::report
