#include "doctor/launch_findings.hpp"

#include "base/rank_list.hpp"

#include <algorithm>

namespace pb {

const std::vector<std::string>& launch_variables() {
    static const std::vector<std::string> names{
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS",      "OMP_PROC_BIND",
        "GOMP_CPU_AFFINITY",    "KMP_AFFINITY",      "SLURM_NTASKS",           "SLURM_STEP_NUM_TASKS", "SLURM_CPU_BIND",
        "NCCL_SOCKET_IFNAME",   "NCCL_IB_DISABLE",   "NCCL_P2P_DISABLE",       "UCX_NET_DEVICES"};
    return names;
}

std::string ranks_text(const std::vector<const RankPlace*>& places) {
    std::vector<RankOnHost> ranks;
    ranks.reserve(places.size());
    for (const RankPlace* place : places) ranks.push_back({place->rank, place->host});
    return ranks_text(ranks);
}

std::vector<std::string> variable_lines(const std::vector<RankFacts>& ranks) {
    std::vector<std::string> lines;
    for (const auto& name : launch_variables()) {
        std::map<std::string, std::vector<const RankPlace*>> holders;
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

}  // namespace pb
