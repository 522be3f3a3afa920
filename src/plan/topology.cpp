#include "patchbench/plan/topology.hpp"

#include <map>
#include <set>
#include <utility>

namespace pb {

int Topology::num_nodes() const {
    std::set<int> nodes;
    for (const RankPlace& place : ranks) nodes.insert(place.node);
    return static_cast<int>(nodes.size());
}

Topology make_local_topology(int num_ranks) {
    Topology topology;
    for (int rank = 0; rank < num_ranks; ++rank) {
        RankPlace place;
        place.rank = rank;
        place.host = "localhost";
        place.local_rank = rank;
        place.device_name = "CPU";
        topology.ranks.push_back(place);
    }
    return topology;
}

std::vector<std::vector<int>> shared_devices(const Topology& topology) {
    std::map<std::pair<std::string, std::string>, std::vector<int>> users;
    for (const RankPlace& place : topology.ranks) {
        const std::string& id = place.device_uuid.empty() ? place.pci_bus_id : place.device_uuid;
        if (place.device.is_cuda() && !id.empty()) users[{place.host, id}].push_back(place.rank);
    }
    std::vector<std::vector<int>> shared;
    for (const auto& [device, ranks] : users)
        if (ranks.size() > 1) shared.push_back(ranks);
    return shared;
}

}  // namespace pb
