// From started processes to a Topology: which rank sits on which host, cores and device, and whether the launch makes
// sense.
#pragma once

#include "comm/communicator.hpp"
#include "config/settings.hpp"
#include "plan/topology.hpp"

namespace pb {

/// What the ranks may use. `device` is the common wish of all points: cpu leaves the GPUs alone.
struct LaunchOptions {
    DeviceChoice device = DeviceChoice::automatic;
    SharingRule sharing = SharingRule::error;
};

/// Throws UsageError when the launcher started more ranks than MPI sees: independent copies.
void check_launcher(const Communicator& world);

/// Collective. Gives every rank a device: the only visible one, or the one of its local rank; with too few an
/// AgreedError that shows CUDA_VISIBLE_DEVICES and the fix, unless sharing is allowed. AgreedError (exit code 2) also
/// when cuda is asked for where there is none.
[[nodiscard]] Topology gather_topology(const Communicator& world, const LaunchOptions& options);

}  // namespace pb
