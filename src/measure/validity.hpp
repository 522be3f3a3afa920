// Whether a point's figures may be compared, and why not.
#pragma once

#include "patchbench/measure/summary.hpp"

namespace pb {

/// Fills validity, reasons and notes of `summary` from `trace`. Reads summary.repetitions.
void rate_validity(const PointTrace& trace, Summary& summary);

}  // namespace pb
