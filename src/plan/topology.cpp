#include "plan/topology.hpp"

#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace pb::plan {

int Topology::num_nodes() const {
    std::set<int> nodes;
    for (const RankPlace& place : ranks) nodes.insert(place.node);
    return static_cast<int>(nodes.size());
}

Topology make_local_topology(int num_ranks, int per_node) {
    const int node_size = per_node == 0 ? num_ranks : per_node;
    Topology topology;
    for (int rank = 0; rank < num_ranks; ++rank) {
        RankPlace place;
        place.rank = rank;
        place.node = rank / node_size;
        place.host = per_node == 0 ? "localhost" : fmt::format("node{}", place.node);
        place.local_rank = rank % node_size;
        place.device_name = "CPU";
        topology.ranks.push_back(place);
    }
    return topology;
}

void give_gpus(Topology& topology, int64_t memory_bytes) {
    for (RankPlace& place : topology.ranks) {
        place.device = {DeviceKind::cuda, place.local_rank};
        place.device_name = "GPU";
        place.device_uuid = fmt::format("GPU-{}", place.rank);
        place.memory_bytes = memory_bytes;
    }
}

std::string were_started(int64_t num_ranks) {
    return fmt::format("{} {} started", num_ranks, num_ranks == 1 ? "was" : "were");
}

std::vector<int> members_of(const Topology& topology, int num_ranks, config::Placement placement) {
    require(num_ranks >= 0 && num_ranks <= topology.num_ranks(), "more members than ranks were started");
    const auto by_node = [&](int rank) {
        const RankPlace& place = topology.place_of(rank);
        return std::tuple(place.node, place.local_rank, rank);
    };
    const auto in_turn = [&](int rank) {
        const RankPlace& place = topology.place_of(rank);
        return std::tuple(place.local_rank, place.node, rank);
    };
    std::vector<int> members(topology.ranks.size());
    std::iota(members.begin(), members.end(), 0);
    if (placement == config::Placement::scatter)
        std::ranges::sort(members, {}, in_turn);
    else
        std::ranges::sort(members, {}, by_node);
    members.resize(static_cast<size_t>(num_ranks));
    std::ranges::sort(members, {}, by_node);
    return members;
}

int sharers_of(const Topology& topology, const std::vector<int>& members, int rank) {
    const auto node_of = [&](int each) { return topology.place_of(each).node; };
    const auto beside = std::ranges::count(members, node_of(rank), node_of);
    return topology.num_apart * static_cast<int>(beside);
}

std::string binding_of(const Topology& topology, const std::vector<int>& members) {
    std::set<std::pair<int, int>> cores_and_sharers;
    for (const int rank : members) {
        const RankPlace& place = topology.place_of(rank);
        const auto shares = [&](int member) {
            const RankPlace& other = topology.place_of(member);
            return other.node == place.node && other.affinity == place.affinity;
        };
        cores_and_sharers.emplace(place.num_cores, static_cast<int>(std::ranges::count_if(members, shares)));
    }
    std::string text;
    for (const auto& [cores, sharers] : cores_and_sharers)
        text += fmt::format("{}{} {}", text.empty() ? "" : " or ", counted(cores, "core"),
                            sharers == 1 ? "a rank" : fmt::format("shared by {} ranks", sharers));
    return text;
}

int fair_threads(const RankPlace& place, const std::vector<std::string>& masks_on_node) {
    int threads = place.num_cores / static_cast<int>(std::ranges::count(masks_on_node, place.affinity));
    if (place.processor_limit > 0)
        threads = std::min(threads, static_cast<int>(place.processor_limit / std::ssize(masks_on_node)));
    return std::max(1, threads);
}

std::vector<std::vector<int>> shared_devices(const Topology& topology) {
    std::map<std::pair<std::string, std::string>, std::vector<int>> users;
    for (const RankPlace& place : topology.ranks) {
        const std::string& id = place.device_id();
        if (place.device.is_cuda() && !id.empty()) users[{place.host, id}].push_back(place.rank);
    }
    std::vector<std::vector<int>> shared;
    for (const auto& [device, ranks] : users)
        if (ranks.size() > 1) shared.push_back(ranks);
    return shared;
}

}  // namespace pb::plan
