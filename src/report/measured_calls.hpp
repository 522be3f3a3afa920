// Times of forward calls that were measured, as the table T(b) of a simulated device.
#pragma once

#include "config/settings.hpp"
#include "report/results_file.hpp"

#include <string>

namespace pb {

/// The setting `timed.table` from the points of `results` that ran the same network in the same precision on the same
/// windows (patch and halo), whatever their ranks: of each batch the median call of the slowest rank, the first point
/// that has it. Throws UsageError that says what the file holds when there is no such point.
[[nodiscard]] std::string measured_call_table(const ResultsFile& results, const PointSettings& simulated);

}  // namespace pb
