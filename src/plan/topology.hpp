// Hosts, ranks and devices of a launch. `run` gathers them once; `patchbench plan` makes up a topology without a
// launch.
#pragma once

#include "config/setting_types.hpp"

#include "patchbench/base/device_id.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::plan {

struct RankPlace {
    int rank = 0;
    std::string host;
    int node = 0;  // index of the host in order of first appearance
    int local_rank = 0;
    DeviceId device;  // its number on this rank
    std::string device_name;
    std::string device_uuid;  // empty on the CPU
    std::string pci_bus_id;
    std::string affinity;          // "0-3"
    int num_cores = 1;             // in the affinity mask
    int threads = 1;               // value of `threads: auto` on this rank
    int64_t memory_bytes = 0;      // memory of the device
    int64_t free_host_bytes = 0;   // memory that the host has left at the start; 0: unknown
    bool multiplies_bf16 = false;  // its processor, as engine native needs it
    double processor_limit = 0;    // processors that its control group has time for; 0: no limit

    /// Names the device among those of its host: the bus id where the uuid is unknown. Empty on the CPU.
    [[nodiscard]] const std::string& device_id() const { return device_uuid.empty() ? pci_bus_id : device_uuid; }
};

/// More threads than cores are allowed, so that a study can measure what they cost.
inline constexpr int64_t kMostThreadsPerCore = 16;

struct Topology {
    std::vector<RankPlace> ranks;
    int num_apart = 1;  // groups of ranks like this one on its node, each with images of its own, that share weights
    [[nodiscard]] int num_ranks() const { return static_cast<int>(ranks.size()); }
    [[nodiscard]] int num_nodes() const;
    [[nodiscard]] const RankPlace& place_of(int rank) const { return ranks[static_cast<size_t>(rank)]; }
};

/// `num_ranks` CPU ranks, one core and thread each, `per_node` on each host (0: all on one, "localhost"; else "node0",
/// "node1", ..): for plans without a launch.
[[nodiscard]] Topology make_local_topology(int num_ranks, int per_node = 0);

/// Gives each rank a GPU of its own, of `memory_bytes` (0: unknown).
void give_gpus(Topology& topology, int64_t memory_bytes);

/// "1 was started", "4 were started".
[[nodiscard]] std::string were_started(int64_t num_ranks);

/// The `num_ranks` started ranks that take part in a point, in the order of their shares: node after node, so that the
/// part of each node is one piece of the image. Rank 0 is always the first. compact: as few nodes as possible; scatter:
/// one rank of each node in turn. Throws Error when fewer ranks were started.
[[nodiscard]] std::vector<int> members_of(const Topology& topology, int num_ranks, config::Placement placement);

/// Members on the node of the member `rank` that share what is made once a node, those of other groups included.
[[nodiscard]] int sharers_of(const Topology& topology, const std::vector<int>& members, int rank);

/// The cores of the members: "1 core a rank", "2 cores shared by 4 ranks", joined by "or" when ranks differ. It may
/// change with the number of members (unbound ranks share all cores), which a scaling study must know.
[[nodiscard]] std::string binding_of(const Topology& topology, const std::vector<int>& members);

/// `threads: auto` of a rank; at least 1. Ranks of a node with the same affinity mask get equal parts of its cores.
/// All ranks of a node get equal parts of a limit on processor time, since a container or a job has one for all of
/// them. `masks_on_node`: of each rank of the node, this one included.
[[nodiscard]] int fair_threads(const RankPlace& place, const std::vector<std::string>& masks_on_node);

/// Groups of two or more ranks (by rank number) that use one physical device: equal host and uuid (bus id where the
/// uuid is unknown). MIG slices have uuids of their own and are not shared. CPU ranks never share.
[[nodiscard]] std::vector<std::vector<int>> shared_devices(const Topology& topology);

}  // namespace pb::plan
