// Decides whether a point's figures may be compared, and gives the reasons if not.
#pragma once

#include "measure/summary.hpp"

namespace pb::measure {

/// Fills validity, reasons and notes of `summary` from `trace`. Needs summary.repetitions.
void rate_validity(const record::PointTrace& trace, Summary& summary);

/// Describes the other work on the hosts while the point was measured (base/telemetry_record.hpp).
[[nodiscard]] std::string foreign_work_of(const record::PointTrace& trace);

}  // namespace pb::measure
