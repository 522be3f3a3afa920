// Findings about devices, local ranks, cores, threads and memory nodes.
#include "base/text.hpp"
#include "doctor/launch_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

namespace pb::doctor {

namespace {

using Ranks = std::vector<RankFacts>;
using Members = std::vector<const RankFacts*>;

/// Empty without members.
std::string text_of(const Members& members) {
    std::vector<const plan::RankPlace*> places;
    for (const auto* member : members) places.push_back(&member->place);
    return places.empty() ? "" : ranks_text(places);
}

Members members_where(const Ranks& ranks, const std::function<bool(const RankFacts&)>& condition) {
    Members members;
    for (const auto& rank : ranks)
        if (condition(rank)) members.push_back(&rank);
    return members;
}

std::string ranks_where(const Ranks& ranks, const std::function<bool(const RankFacts&)>& condition) {
    return text_of(members_where(ranks, condition));
}

void add_shared(const Ranks& ranks, Findings& all) {
    for (const auto& group : plan::shared_devices(topology_of(ranks))) {
        const plan::RankPlace& place = ranks[static_cast<size_t>(group.front())].place;
        const auto shares = [&](const RankFacts& rank) {
            return std::ranges::find(group, rank.place.rank) != group.end();
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
    if (without.empty() || std::ranges::none_of(ranks, is_cuda)) return;
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
    std::map<std::string, std::set<std::string>> names;
    for (const auto& rank : ranks)
        if (rank.place.device.is_cuda() && !rank.variables.contains("CUDA_DEVICE_ORDER"))
            names[rank.place.host].insert(rank.place.device_name);
    std::erase_if(names, [](const auto& host) { return host.second.size() < 2; });
    if (names.empty()) return;
    const auto& [host, kinds] = *names.begin();
    all.push_back(
        {Severity::advice, fmt::format("GPUs of {} kinds on {}, numbered the fastest first", kinds.size(), host),
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

std::vector<Members> by_node(const Ranks& ranks) {
    std::map<int, Members> nodes;
    for (const auto& rank : ranks) nodes[rank.place.node].push_back(&rank);
    std::vector<Members> all;
    all.reserve(nodes.size());
    for (auto& [node, members] : nodes) all.push_back(std::move(members));
    return all;
}

bool overlap(const RankFacts& one, const RankFacts& other) {
    std::vector<int> common;
    std::set_intersection(one.cores.begin(), one.cores.end(), other.cores.begin(), other.cores.end(),
                          std::back_inserter(common));
    return !common.empty();
}

constexpr const char* kBind =
    "start with launch/ranks.sh on one machine, or with launch/bind.sh (and --bind-to none, --cpu-bind=none): each "
    "rank gets the cores beside its GPU";

void add_overlap(const Members& node, Findings& all) {
    Members sharing;
    std::set<int> cores;
    for (const auto* rank : node) {
        const auto shares_a_core = [&](const RankFacts* other) { return other != rank && overlap(*rank, *other); };
        if (std::ranges::none_of(node, shares_a_core)) continue;
        sharing.push_back(rank);
        cores.insert(rank->cores.begin(), rank->cores.end());
    }
    if (sharing.empty()) return;
    const std::string what = text_of(sharing) + " may run on the same " + counted(cores.size(), "core");
    if (cores.size() < sharing.size())
        all.push_back({Severity::advice, what,
                       "start no more ranks on a node than it has cores (hardware threads of "
                       "one core count once)"});
    else
        all.push_back({Severity::advice, what, kBind});
    const auto pins = [](const RankFacts* rank) {
        const auto found = rank->variables.find("OMP_PROC_BIND");
        return rank->variables.contains("GOMP_CPU_AFFINITY") ||
               (found != rank->variables.end() && found->second != "false" && found->second != "FALSE");
    };
    if (std::ranges::any_of(sharing, pins))
        all.push_back({Severity::advice,
                       "OMP_PROC_BIND pins threads of " + text_of(sharing) + " to the same first cores",
                       "unset OMP_PROC_BIND and GOMP_CPU_AFFINITY, or bind the ranks apart"});
}

/// A limit on processor time below the processors that the ranks may use: threads then wait, all at the same time.
void add_limit(const Members& node, Findings& all) {
    const plan::RankPlace& place = node.front()->place;
    std::set<int> cores;
    for (const auto* rank : node) cores.insert(rank->cores.begin(), rank->cores.end());
    if (place.processor_limit <= 0 || place.processor_limit >= static_cast<double>(cores.size())) return;
    all.push_back({Severity::advice,
                   fmt::format("{} may use {}, but their control group has time for {:.3g}", text_of(node),
                               counted(cores.size(), "core"), place.processor_limit),
                   "give the container or job as much processor time as cores (docker --cpus, cpu.max), or start no "
                   "more ranks than it has time for"});
}

/// Ranks that may use at most half of an equal share of the cores of their node.
void add_few_cores(const Members& node, Findings& all) {
    Members few;
    for (const auto* rank : node)
        if (2 * rank->cores.size() * node.size() <= static_cast<size_t>(rank->node_cores)) few.push_back(rank);
    if (few.empty()) return;
    all.push_back({Severity::advice,
                   fmt::format("{} may use {}{} of {} (mpirun binds to one core for two ranks or fewer)", text_of(few),
                               counted(few.front()->cores.size(), "core"), few.size() > 1 ? " each" : "",
                               few.front()->node_cores),
                   kBind});
}

void add_unequal(const Ranks& ranks, Findings& all) {
    std::map<size_t, Members> by_count;
    for (const auto& rank : ranks) by_count[rank.cores.size()].push_back(&rank);
    if (by_count.size() < 2) return;
    all.push_back({Severity::advice,
                   fmt::format("unequal shares: {} may use {}, {} {}", text_of(by_count.begin()->second),
                               counted(by_count.begin()->first, "core"), text_of(by_count.rbegin()->second),
                               by_count.rbegin()->first),
                   "the slowest rank decides: give each as many, by ranks that divide the cores or a list of cores"});
}

int requested_threads(const RankFacts& rank) {
    const auto found = rank.variables.find("OMP_NUM_THREADS");
    int threads = 0;
    if (found == rank.variables.end()) return threads;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), threads);
    return threads;
}

void add_threads(const Ranks& ranks, Findings& all) {
    const Members many = members_where(ranks, [](const RankFacts& rank) {
        return requested_threads(rank) > rank.place.num_cores;  // hardware threads count here
    });
    if (many.empty()) return;
    all.push_back({Severity::advice,
                   fmt::format("{}: OMP_NUM_THREADS={} on {}", text_of(many), requested_threads(*many.front()),
                               counted(many.front()->place.num_cores, "processor")),
                   "unset OMP_NUM_THREADS (threads: auto takes what the rank may use), or bind to more cores"});
}

void add_remote_memory(const Ranks& ranks, Findings& all) {
    const Members far = members_where(ranks, [](const RankFacts& rank) {
        const auto& nodes = rank.memory_nodes;
        return rank.device_memory_node && !nodes.empty() &&
               std::ranges::find(nodes, *rank.device_memory_node) == nodes.end();
    });
    if (far.empty()) return;
    all.push_back({Severity::advice,
                   fmt::format("{}: cores on memory node {}, GPU on {}", text_of(far),
                               far.front()->memory_nodes.front(), *far.front()->device_memory_node),
                   kBind});
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

Findings find_binding_findings(const Ranks& ranks) {
    Findings all;
    for (const auto& node : by_node(ranks)) {
        add_overlap(node, all);
        add_few_cores(node, all);
        add_limit(node, all);
    }
    add_unequal(ranks, all);
    add_threads(ranks, all);
    add_remote_memory(ranks, all);
    return all;
}

}  // namespace pb::doctor
