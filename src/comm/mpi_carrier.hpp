// Slabs by MPI.
#pragma once

#include "patchbench/comm/slab_carrier.hpp"

#include <memory>

namespace pb {

/// Collective. Contract: make_slab_carrier.
[[nodiscard]] std::unique_ptr<SlabCarrier> make_mpi_carrier(const Communicator& ranks);

}  // namespace pb
