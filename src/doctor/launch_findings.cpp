#include "doctor/launch_findings.hpp"

#include "base/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::doctor {

const std::vector<std::string>& launch_variables() {
    static const std::vector<std::string> names{
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS",      "OMP_PROC_BIND",
        "GOMP_CPU_AFFINITY",    "KMP_AFFINITY",      "SLURM_NTASKS",           "SLURM_STEP_NUM_TASKS", "SLURM_CPU_BIND",
        "NCCL_SOCKET_IFNAME",   "NCCL_IB_DISABLE",   "NCCL_P2P_DISABLE",       "UCX_NET_DEVICES"};
    return names;
}

std::string ranks_text(const std::vector<const plan::RankPlace*>& places) {
    std::vector<RankOnHost> ranks;
    ranks.reserve(places.size());
    for (const plan::RankPlace* place : places) ranks.push_back({place->rank, place->host});
    return ranks_text(ranks);
}

std::vector<std::string> variable_lines(const std::vector<RankFacts>& ranks) {
    std::vector<std::string> lines;
    for (const auto& name : launch_variables()) {
        std::map<std::string, std::vector<const plan::RankPlace*>> holders;
        for (const auto& rank : ranks) {
            const auto found = rank.variables.find(name);
            holders[found == rank.variables.end() ? "not set" : found->second].push_back(&rank.place);
        }
        if (holders.size() == 1 && holders.begin()->first == "not set") continue;
        std::string line = name;
        for (const auto& [value, places] : holders) {
            line.append(line == name ? "=" : ", ").append(value);
            if (holders.size() > 1) line.append(" (").append(ranks_text(places)).append(")");
        }
        lines.push_back(line);
    }
    return lines;
}

plan::Topology topology_of(const std::vector<RankFacts>& ranks) {
    plan::Topology topology;
    for (const auto& rank : ranks) topology.ranks.push_back(rank.place);
    return topology;
}

Findings launch_findings(const std::vector<RankFacts>& ranks) {
    Findings all;
    for (const auto find : {find_launcher_findings, find_device_findings, find_binding_findings, find_library_findings})
        for (auto& finding : find(ranks)) all.push_back(std::move(finding));
    return all;
}

Findings tiny_findings(const std::vector<double>& errors, double tolerance, const plan::Topology& topology) {
    Findings all;
    for (size_t rank = 0; rank < errors.size(); ++rank) {
        if (errors[rank] <= tolerance) continue;
        const plan::RankPlace& place = topology.ranks[rank];
        all.push_back({Severity::wrong,
                       fmt::format("rank {}@{}: a tiny network on {} differs by {:.2e} from the fp64 reference "
                                   "(tolerance {:.0e})",
                                   rank, place.host, place.device_name, errors[rank], tolerance),
                       "trust no result of this device: try another one, and another driver or build of LibTorch"});
    }
    return all;
}

bool any_wrong(const Findings& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const Finding& finding) { return finding.severity == Severity::wrong; });
}

}  // namespace pb::doctor
