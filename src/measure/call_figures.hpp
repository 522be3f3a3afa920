// Turns the forward calls of a point into the latency of a call.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <vector>

namespace pb::measure {

/// Returns a percentile if there are enough samples for it: at least one of them must lie beyond it.
[[nodiscard]] std::optional<double> percentile(const std::vector<double>& samples, int percent);

/// Fills the figures of a call, from the rank with the largest median: the others wait for it.
void add_calls(const record::PointTrace& trace, Summary& summary);

}  // namespace pb::measure
