// Runs a body on all ranks of the started processes, and turns whatever it throws into one exit code for all of them.
#pragma once

#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "comm/watchdog.hpp"
#include "plan/topology.hpp"

#include <functional>
#include <optional>

namespace pb::app {

/// Gives the body its ranks, which a watchdog watches with the default time-out. It outlives the end of MPI, so it also
/// stops ranks that wait there for a rank that is gone.
struct RankSession {
    const comm::Communicator& world;
    std::optional<comm::Watchdog>& watchdog;

    /// Watches with another time-out from now on. Collective.
    void watch(double timeout_s) { watchdog.emplace(world, timeout_s); }
};

/// Runs `body` between the start and the end of MPI, with signals caught. Errors that all ranks throw together are
/// printed once. An error of a single rank is printed with its rank and host and ends the whole job (MPI_Abort).
[[nodiscard]] ExitCode with_ranks(const Arguments& arguments, const std::function<ExitCode(RankSession&)>& body);

/// Prints to stderr which ranks are on which node, if there are several nodes. A launcher that loses a node does not
/// name the ranks.
void print_nodes(const plan::Topology& topology);

/// Prints the version of patchbench and the versions of every library: of its header and of the loaded file.
void print_version();

}  // namespace pb::app
