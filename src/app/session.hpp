// From a started process to a body that runs on all ranks, and from whatever it throws to one exit code on all of them.
#pragma once

#include "app/commands.hpp"

#include "patchbench/comm/communicator.hpp"

#include <functional>

namespace pb {

/// Runs `body` between MPI's start and end, signals caught. Errors that all ranks throw together are printed once; an
/// error of one rank alone is printed with its rank and host and ends the whole job (MPI_Abort).
[[nodiscard]] ExitCode with_ranks(const Arguments& arguments, const std::function<ExitCode(const Communicator&)>& body);

/// Prints an error of the program to stderr, prefixed "patchbench: ".
void print_error(const std::string& message);

/// False for all but the first process of a launch: what is printed before MPI starts is printed once.
[[nodiscard]] bool speaks_before_mpi();

}  // namespace pb
