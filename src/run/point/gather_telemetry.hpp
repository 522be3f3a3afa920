// Telemetry of all ranks, on all ranks.
#pragma once

#include "comm/metric_reduction.hpp"
#include "run/trace.hpp"

namespace pb {

/// Collective. Puts each rank's record into its trace; `ranks` has one entry a rank, in order.
void gather_telemetry(MetricReduction& reduction, const TelemetryRecord& mine, std::vector<RankTrace>& ranks);

}  // namespace pb
