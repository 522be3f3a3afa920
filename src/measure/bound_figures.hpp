// Adds upper bounds, and the percentage of them that a point reaches, to its summary.
#pragma once

#include "measure/summary.hpp"

namespace pb::measure {

/// Needs summary.repetitions. FLOP and bytes come from the tables of the networks.
void add_bounds(const record::PointTrace& trace, Summary& summary);

}  // namespace pb::measure
