// From a started process to a body that runs on all ranks, and from whatever it throws to one exit code on all of them.
#pragma once

#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "comm/watchdog.hpp"
#include "plan/topology.hpp"

#include <functional>
#include <optional>

namespace pb {

/// What a body has: the ranks, and a watchdog to start once it knows the time-out. The watchdog outlives MPI's end, so
/// that ranks which wait there for one that is gone are not left alone.
class RankSession {
  public:
    RankSession(const Communicator& world, std::optional<Watchdog>& watchdog) : world_(world), watchdog_(watchdog) {}
    [[nodiscard]] const Communicator& world() const { return world_; }
    /// Collective; once.
    void watch(double timeout_s) { watchdog_.emplace(world_, timeout_s); }

  private:
    const Communicator& world_;
    std::optional<Watchdog>& watchdog_;
};

/// Runs `body` between MPI's start and end, signals caught. Errors that all ranks throw together are printed once; an
/// error of one rank alone is printed with its rank and host and ends the whole job (MPI_Abort).
[[nodiscard]] ExitCode with_ranks(const Arguments& arguments, const std::function<ExitCode(RankSession&)>& body);

/// Which ranks are on which node, to stderr, where there is more than one: a launcher that loses a node names no ranks.
void print_nodes(const Topology& topology);

/// Prints the versions of patchbench and of every library, header and loaded.
void print_version();

/// Prints an error of the program to stderr, prefixed "patchbench: ".
void print_error(const std::string& message);

/// False for all but the first process of a launch: what is printed before MPI starts is printed once.
[[nodiscard]] bool is_first_process();

}  // namespace pb
