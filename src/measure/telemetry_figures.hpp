// Turns the counters of devices and hosts into figures of a point and into reasons against it.
#pragma once

#include "measure/summary.hpp"

namespace pb::measure {

/// Fills the telemetry figures of a point. Needs at least one repetition.
void add_telemetry(const record::PointTrace& trace, Summary& summary);

/// Returns why the point cannot be compared, and what to do: a device throttled for more than 1 % of the time. Nothing
/// when none throttled or none reported it.
[[nodiscard]] std::optional<std::string> throttling_of(const record::PointTrace& trace);

/// Returns warnings: other processes on a device, clocks held at the power limit.
[[nodiscard]] std::vector<std::string> telemetry_notes(const record::PointTrace& trace);

}  // namespace pb::measure
