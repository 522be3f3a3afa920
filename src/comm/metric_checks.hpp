// What both reductions ask of their input.
#pragma once

#include "comm/communicator.hpp"

#include <span>

namespace pb {

/// Throws Error when there is a NaN. Not collective.
void require_no_nan(std::span<const double> values);

/// Collective: Error on all ranks unless all have equally many values.
void require_equal_lengths(const Communicator& communicator, std::span<const double> values);

}  // namespace pb
