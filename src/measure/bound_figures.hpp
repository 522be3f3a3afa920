// Upper bounds, and what a point reaches of them, into its summary.
#pragma once

#include "measure/summary.hpp"

namespace pb {

/// Needs the summary's repetitions. FLOP and bytes come from the tables of the networks.
void add_bounds(const PointTrace& trace, Summary& summary);

}  // namespace pb
