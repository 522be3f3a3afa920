// A tiny network on each rank's device, beside the naive double-precision reference: does the device compute right?
#pragma once

#include "comm/communicator.hpp"
#include "doctor/launch_findings.hpp"

#include <vector>

namespace pb::doctor {

/// On rank 0; empty on the others.
struct NetworkTrial {
    std::vector<double> errors;  // of each rank: the largest difference, of values in [0,1]
    Findings wrong;              // ranks whose device computed something else
};

/// Collective. Throws AgreedError or PointFailed on all ranks where the network does not run on one.
[[nodiscard]] NetworkTrial try_network(const comm::Communicator& world, const plan::Topology& topology);

}  // namespace pb::doctor
