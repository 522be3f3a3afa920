// Counters of devices and hosts to figures of a point, and what they say against it.
#pragma once

#include "measure/summary.hpp"

namespace pb {

/// Fills the telemetry figures of a point with at least one repetition.
void add_telemetry(const PointTrace& trace, Summary& summary);

/// Why the point cannot be compared, with what to do: a device slowed itself down for more than 1 % of the time. None
/// when none did, or none said so.
[[nodiscard]] std::optional<std::string> throttling_of(const PointTrace& trace);

/// Warnings: other processes on a device, clocks held at the power limit.
[[nodiscard]] std::vector<std::string> telemetry_notes(const PointTrace& trace);

}  // namespace pb
