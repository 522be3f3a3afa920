// Turns measured times of forward calls into the table T(b) of a simulated device.
#pragma once

#include "config/settings.hpp"
#include "report/results_file.hpp"

#include <string>

namespace pb::report {

/// Returns the value of the setting `timed.table`. It uses the points of `results` that ran the same network in the
/// same precision on the same windows (patch and halo), on any number of ranks. The time for each batch is the median
/// call of the slowest rank of the first point with that batch. Throws UsageError that says what the file holds when
/// there is no such point.
[[nodiscard]] std::string measured_call_table(const ResultsFile& results, const config::PointSettings& simulated);

}  // namespace pb::report
