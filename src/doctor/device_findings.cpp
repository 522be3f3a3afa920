// Findings about devices, local ranks and launchers.
#include "doctor/launch_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace pb::doctor {

namespace {

using Ranks = std::vector<RankFacts>;

std::string ranks_where(const Ranks& ranks, const std::function<bool(const RankFacts&)>& condition) {
    std::vector<const plan::RankPlace*> places;
    for (const auto& rank : ranks)
        if (condition(rank)) places.push_back(&rank.place);
    return places.empty() ? "" : ranks_text(places);
}

void add_shared(const Ranks& ranks, Findings& all) {
    for (const auto& group : plan::shared_devices(topology_of(ranks))) {
        const plan::RankPlace& place = ranks[static_cast<size_t>(group.front())].place;
        const auto shares = [&](const RankFacts& rank) {
            return std::find(group.begin(), group.end(), rank.place.rank) != group.end();
        };
        all.push_back({Severity::wrong,
                       ranks_where(ranks, shares) + " share one GPU (" + place.device_name + ", bus " +
                           place.pci_bus_id + ", " + place.device_uuid + ")",
                       "start one rank a GPU (mpirun --map-by ppr:<GPUs>:node, srun --ntasks-per-node=<GPUs>); if it "
                       "is meant, devices.sharing: allow in the study, whose figures are then INVALID"});
    }
}

void add_mixed(const Ranks& ranks, Findings& all) {
    const auto is_cuda = [](const RankFacts& rank) { return rank.place.device.is_cuda(); };
    const std::string without = ranks_where(ranks, std::not_fn(is_cuda));
    if (without.empty() || std::none_of(ranks.begin(), ranks.end(), is_cuda)) return;
    all.push_back(
        {Severity::wrong, without + " compute on the CPU while others have a GPU",
         "use nodes with equally many GPUs and look at CUDA_VISIBLE_DEVICES there, or start with --device cpu"});
}

/// GPUs that the ranks of a host see but do not use.
void add_idle(const Ranks& ranks, Findings& all) {
    std::map<std::string, std::set<std::string>> idle;
    for (const auto& rank : ranks)
        if (rank.place.device.is_cuda())
            idle[rank.place.host].insert(rank.visible_devices.begin(), rank.visible_devices.end());
    for (const auto& rank : ranks) idle[rank.place.host].erase(rank.place.device_uuid);
    for (const auto& [host, devices] : idle) {
        if (devices.empty()) continue;
        all.push_back({Severity::advice, fmt::format("{} visible GPUs of {} have no rank", devices.size(), host),
                       "start one rank a GPU, or hide the others (CUDA_VISIBLE_DEVICES) if that is meant"});
    }
}

void add_unusable(const Ranks& ranks, Findings& all) {
    std::set<std::string> seen;
    for (const auto& rank : ranks) {
        const std::string& reason = rank.why_no_device;
        if (reason.empty() || !seen.insert(reason).second) continue;
        all.push_back({Severity::advice,
                       ranks_where(ranks, [&](const RankFacts& other) { return other.why_no_device == reason; }) +
                           ": no usable GPU: " + reason,
                       "look at nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, its GPU option (apptainer --nv); "
                       "--device cpu where the CPU is meant"});
    }
}

/// By default CUDA numbers the fastest GPU first; nvidia-smi and bind.sh number GPUs by bus.
void add_order(const Ranks& ranks, Findings& all) {
    std::set<std::string> names;
    for (const auto& rank : ranks)
        if (rank.place.device.is_cuda() && !rank.variables.contains("CUDA_DEVICE_ORDER"))
            names.insert(rank.place.device_name);
    if (names.size() < 2) return;
    all.push_back(
        {Severity::advice, fmt::format("GPUs of {} kinds, numbered the fastest first", names.size()),
         "export CUDA_DEVICE_ORDER=PCI_BUS_ID (launch/bind.sh does), so that numbers are those of nvidia-smi"});
}

void add_local_rank(const Ranks& ranks, Findings& all) {
    const auto differs = [](const RankFacts& rank) {
        return rank.announced_local_rank && *rank.announced_local_rank != rank.place.local_rank;
    };
    const std::string who = ranks_where(ranks, differs);
    if (who.empty()) return;
    all.push_back({Severity::wrong, who + ": the launcher counts another local rank than MPI",
                   "ranks of a node must see each other: one host name for each node, and no process or network "
                   "namespace for each rank (containers)"});
}

}  // namespace

Findings find_device_findings(const Ranks& ranks) {
    Findings all;
    add_shared(ranks, all);
    add_mixed(ranks, all);
    add_local_rank(ranks, all);
    add_idle(ranks, all);
    add_unusable(ranks, all);
    add_order(ranks, all);
    return all;
}

Findings find_launcher_findings(const Ranks& ranks) {
    if (ranks.size() != 1) return {};
    const auto& variables = ranks.front().variables;
    const auto tasks = variables.find("SLURM_NTASKS");
    if (tasks == variables.end() || tasks->second == "1" || variables.contains("SLURM_STEP_NUM_TASKS")) return {};
    return {{Severity::advice, "one rank, in a Slurm job of " + tasks->second + " tasks",
             "start it with srun --mpi=pmix (launch/slurm.sbatch)"}};
}

}  // namespace pb::doctor
