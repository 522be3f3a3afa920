// MPI's return codes as errors: all communicators return codes (MPI_ERRORS_RETURN), and every call goes through check.
#pragma once

#include "comm/communicator.hpp"

#include <mpi.h>

#include <source_location>

namespace pb::mpi {

/// Throws Error with MPI's text and the place of the call unless `status` is MPI_SUCCESS.
void check(int status, std::source_location where = std::source_location::current());

[[nodiscard]] inline MPI_Comm native(const Communicator& communicator) {
    return *static_cast<const MPI_Comm*>(communicator.native());
}

/// Between MPI_Init and MPI_Finalize.
[[nodiscard]] bool is_running();

}  // namespace pb::mpi
