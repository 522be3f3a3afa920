// Turns the forward calls of a point, and the counters of its devices and hosts, into figures of its summary, and
// decides whether they may be compared.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <vector>

namespace pb::measure {

/// Returns a percentile if there are enough samples for it: at least one of them must lie beyond it.
[[nodiscard]] std::optional<double> percentile(const std::vector<double>& samples, int percent);

/// Returns the rank whose calls have the largest median: of the ranks that had windows, or also of idle ones. Null
/// where none of them has calls.
[[nodiscard]] const record::RankTrace* slowest_rank(const record::PointTrace& trace, bool idle_too = false);

/// Returns what to multiply the time of a call of `rank` by to get that of a window of its pass, of which a call has
/// `batch`. Padding counts as windows. Cropped windows take a different time each: it is the mean.
[[nodiscard]] double calls_per_window(const record::PointTrace& trace, const record::RankTrace& rank);

/// Fills the figures of a call, from the rank with the largest median: the others wait for it.
void add_calls(const record::PointTrace& trace, Summary& summary);

/// Fills the telemetry figures of a point. Needs at least one repetition.
void add_telemetry(const record::PointTrace& trace, Summary& summary);

/// Returns why the point cannot be compared, and what to do: a device throttled for more than 1 % of the time. Nothing
/// when none throttled or none reported it.
[[nodiscard]] std::optional<std::string> throttling_of(const record::PointTrace& trace);

/// Returns warnings: other processes on a device, clocks held at the power limit.
[[nodiscard]] std::vector<std::string> telemetry_notes(const record::PointTrace& trace);

/// Fills validity, reasons (if the figures may not be compared) and notes of `summary`. Needs summary.repetitions. In
/// validity.cpp.
void rate_validity(const record::PointTrace& trace, Summary& summary);

}  // namespace pb::measure
