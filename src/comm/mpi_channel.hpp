// Slabs by MPI.
#pragma once

#include "comm/transfer_channel.hpp"

#include <memory>

namespace pb {

/// Collective. Contract: make_transfer_channel.
[[nodiscard]] std::unique_ptr<TransferChannel> make_mpi_channel(const Communicator& ranks);

}  // namespace pb
