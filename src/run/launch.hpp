// Makes a Topology from the started processes (host, cores and device of each rank) and checks the launch.
#pragma once

#include "comm/communicator.hpp"
#include "config/settings.hpp"
#include "plan/topology.hpp"

namespace pb::run {

/// The devices that the ranks may use. `device` is the common setting of all points; cpu does not use the GPUs.
struct LaunchOptions {
    config::DeviceChoice device = config::DeviceChoice::automatic;
    config::SharingRule sharing = config::SharingRule::error;
};

/// Throws UsageError when the launcher started more ranks than MPI sees: they would run as independent copies.
void check_launcher(const comm::Communicator& world);

/// Collective. Assigns a device to each rank: the only visible one, or the one with its local rank as index. When there
/// are too few and sharing is not allowed, throws AgreedError that shows CUDA_VISIBLE_DEVICES and how to correct it.
/// Throws AgreedError (exit code 2) also when cuda is requested on a node without a GPU.
[[nodiscard]] plan::Topology gather_topology(const comm::Communicator& world, const LaunchOptions& options);

}  // namespace pb::run
