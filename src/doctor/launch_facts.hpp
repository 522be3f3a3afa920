// What the ranks know of their launch, gathered: what plan/launch_findings.hpp judges.
#pragma once

#include "comm/communicator.hpp"
#include "doctor/launch_findings.hpp"

namespace pb {

/// Collective; in rank order on rank 0, empty elsewhere. `wants_gpu`: a rank without one says why.
[[nodiscard]] std::vector<RankFacts> gather_launch_facts(const Communicator& world, const Topology& topology,
                                                         bool wants_gpu);

/// Collective; the same on all ranks. The links of links_to_measure, one after the other.
[[nodiscard]] std::vector<LinkSpeed> measure_links(const Communicator& world, const Topology& topology);

/// How figures were gathered in a trial, and what was found.
struct ReductionTrial {
    std::string how;  // "NCCL and MPI, the same numbers"
    Findings findings;
};
/// Collective. Gathers the same awkward figures through MPI and, where every rank has a GPU of its own, through NCCL:
/// they must be equal bit by bit. Throws RanksMissing on one rank when NCCL's bring-up leaves ranks behind.
[[nodiscard]] ReductionTrial try_reductions(const Communicator& world, const Topology& topology, double timeout_s);

}  // namespace pb
