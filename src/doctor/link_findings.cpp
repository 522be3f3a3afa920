// Chooses the links to measure and finds the slow ones.
#include "base/statistics.hpp"
#include "doctor/launch_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::doctor {

namespace {

std::string gigabytes(double bytes_per_s) {
    const auto hundredths = std::lround(bytes_per_s / 1e7);
    return fmt::format("{}.{:02} GB/s", hundredths / 100, hundredths % 100);
}

struct Kind {
    const char* name;
    double slow_bytes_per_s;  // between nodes about 10 Gbit/s, within a node a tenth of a memory copy
    const char* fix;
};
constexpr Kind kBetween{"between nodes", 1e9,
                        "name the fast network (Open MPI: UCX_NET_DEVICES, or --mca btl_tcp_if_include; NCCL: "
                        "NCCL_SOCKET_IFNAME, NCCL_IB_HCA), and build with the cluster's own MPI"};
constexpr Kind kWithin{"within a node", 0.5e9,
                       "messages should go through shared memory: look at --mca btl (vader, sm), /dev/shm and, for "
                       "containers, a namespace for each rank"};

void add_slow(const plan::Topology& topology, const std::vector<LinkSpeed>& links, const Kind& kind, Findings& all) {
    if (links.empty()) return;
    std::vector<double> speeds;
    speeds.reserve(links.size());
    for (const auto& link : links) speeds.push_back(link.bytes_per_s);
    const double usual = median(speeds);
    const auto slowest = std::min_element(links.begin(), links.end(), [](const auto& one, const auto& other) {
        return one.bytes_per_s < other.bytes_per_s;
    });
    const plan::RankPlace& from = topology.ranks[static_cast<size_t>(slowest->from)];
    const plan::RankPlace& to = topology.ranks[static_cast<size_t>(slowest->to)];
    const std::string pair =
        ranks_text({&from}) + " to " + ranks_text({&to}) + ": " + gigabytes(slowest->bytes_per_s) + " " + kind.name;
    if (usual < kind.slow_bytes_per_s)
        all.push_back({Severity::advice, pair, kind.fix});
    else if (links.size() > 2 && slowest->bytes_per_s < usual / 2)
        all.push_back({Severity::advice, pair + ", " + gigabytes(usual) + " elsewhere",
                       "leave that node out, or have it looked at"});
}

}  // namespace

std::vector<std::pair<int, int>> links_to_measure(const plan::Topology& topology) {
    std::map<int, std::vector<int>> nodes;
    for (const auto& place : topology.ranks) nodes[place.node].push_back(place.rank);
    std::vector<std::pair<int, int>> pairs;
    std::vector<int> firsts;
    for (const auto& [node, ranks] : nodes) {
        if (ranks.size() > 1) pairs.emplace_back(ranks[0], ranks[1]);
        firsts.push_back(ranks[0]);
    }
    for (size_t i = 0; i + 1 < firsts.size(); ++i) pairs.emplace_back(firsts[i], firsts[i + 1]);
    if (firsts.size() > 2) pairs.emplace_back(firsts.back(), firsts.front());
    return pairs;
}

Findings find_link_findings(const plan::Topology& topology, const std::vector<LinkSpeed>& links) {
    std::vector<LinkSpeed> between, within;
    for (const auto& link : links) {
        const bool same =
            topology.ranks[static_cast<size_t>(link.from)].node == topology.ranks[static_cast<size_t>(link.to)].node;
        (same ? within : between).push_back(link);
    }
    Findings all;
    add_slow(topology, within, kWithin, all);
    add_slow(topology, between, kBetween, all);
    return all;
}

}  // namespace pb::doctor
