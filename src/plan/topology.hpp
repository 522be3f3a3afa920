// Who runs where: hosts, ranks, devices. A value, gathered once by `run`, or made up by `plan` without any launch.
#pragma once

#include "config/setting_types.hpp"

#include "patchbench/base/device_id.hpp"

#include <string>
#include <vector>

namespace pb {

struct RankPlace {
    int rank = 0;
    std::string host;
    int node = 0;  // index of the host in order of first appearance
    int local_rank = 0;
    DeviceId device;  // as this rank sees it
    std::string device_name;
    std::string device_uuid;  // empty on the CPU
    std::string pci_bus_id;
    std::string affinity;      // "0-3"
    int num_cores = 1;         // in the affinity mask
    int threads = 1;           // what `threads: auto` means on this rank
    int64_t memory_bytes = 0;  // of the device
};

struct Topology {
    std::vector<RankPlace> ranks;
    [[nodiscard]] int num_ranks() const { return static_cast<int>(ranks.size()); }
    [[nodiscard]] int num_nodes() const;
};

/// `num_ranks` CPU ranks on one host ("localhost"), one core and thread each: for plans without a launch.
[[nodiscard]] Topology make_local_topology(int num_ranks);

/// The `num_ranks` of the started ranks that take part in a point, in the order of their shares: node after node, so
/// that each node's part of an image is one piece. Rank 0 is always the first. compact: as few nodes as possible;
/// scatter: one rank of each node in turn. Requires that so many were started.
[[nodiscard]] std::vector<int> members_of(const Topology& topology, int num_ranks, Placement placement);

/// What cores the members have: "1 core a rank", "2 cores, shared by 4 ranks", or a range where ranks differ. It may
/// change with the number of members (ranks that are bound to nothing share all cores), which a scaling study must
/// know.
[[nodiscard]] std::string binding_of(const Topology& topology, const std::vector<int>& members);

/// Groups of two or more ranks (by rank number) that use one physical device: equal host and uuid (bus id where the
/// uuid is unknown). MIG slices have uuids of their own and are not shared. CPU ranks never share.
[[nodiscard]] std::vector<std::vector<int>> shared_devices(const Topology& topology);

}  // namespace pb
