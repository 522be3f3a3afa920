// Gathers the facts of a launch that launch_findings.hpp examines, and tries its links, its reductions
// (launch_trials.cpp) and a tiny network on each rank's device.
#pragma once

#include "comm/communicator.hpp"
#include "doctor/launch_findings.hpp"

#include <vector>

namespace pb::doctor {

/// Collective. Returns the facts in rank order on rank 0, empty elsewhere. `wants_gpu`: a rank without a usable GPU
/// gives the reason.
[[nodiscard]] std::vector<RankFacts> gather_launch_facts(const comm::Communicator& world,
                                                         const plan::Topology& topology, bool wants_gpu);

/// Collective. Measures the links of links_to_measure one after the other. Returns the same on all ranks.
[[nodiscard]] std::vector<LinkSpeed> measure_links(const comm::Communicator& world, const plan::Topology& topology);

/// Collective. What other programs do on each node while the ranks sleep for half a second. On rank 0.
[[nodiscard]] Findings find_other_work(const comm::Communicator& world, const plan::Topology& topology);

/// How figures were gathered in the trial, and its findings.
struct ReductionTrial {
    std::string how;  // "NCCL and MPI, the same numbers"
    Findings findings;
};
/// Collective. Gathers the same figures through MPI and, when every rank has a GPU of its own, through NCCL: the
/// results must be equal bit by bit. Throws RanksMissing on one rank when some ranks do not come back from starting
/// NCCL.
[[nodiscard]] ReductionTrial try_reductions(const comm::Communicator& world, const plan::Topology& topology,
                                            double timeout_s);

/// Of a tiny network on each rank's device, beside the naive double-precision reference: does the device compute right?
/// On rank 0; empty on the others.
struct NetworkTrial {
    std::vector<double> errors;  // of each rank: the largest difference, of values in [0,1]
    Findings wrong;              // ranks whose device computed something else
};

/// Collective. Throws AgreedError or PointFailed on all ranks where the network does not run on one.
[[nodiscard]] NetworkTrial try_network(const comm::Communicator& world, const plan::Topology& topology);

}  // namespace pb::doctor
