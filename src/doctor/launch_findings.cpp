#include "doctor/launch_findings.hpp"

#include "base/statistics.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
    for (const auto find : {find_launcher_findings, find_device_findings, find_binding_findings, find_library_findings,
                            find_limit_findings})
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

bool any_wrong(const Findings& all) { return std::ranges::count(all, Severity::wrong, &Finding::severity) > 0; }

namespace {

bool is_version(const std::string& text) {
    const auto fits = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
    return !text.empty() && std::ranges::all_of(text, fits);
}

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

/// LibTorch changes its binary interface in every version; the other libraries keep theirs within a major version.
Severity severity_of(const LoadedLibrary& library) {
    const bool is_compatible = library.name != "libtorch" && major_of(library.header) == major_of(library.loaded);
    return is_compatible ? Severity::advice : Severity::wrong;
}

void add_version_mismatch(const RankFacts& rank, Findings& all) {
    for (const auto& library : rank.libraries) {
        if (!is_version(library.header) || !is_version(library.loaded) || library.header == library.loaded) continue;
        all.push_back({severity_of(library),
                       library.name + ": compiled against " + library.header + ", loaded is " + library.loaded + " (" +
                           ranks_text({&rank.place}) + ")",
                       "take the folder of the other copy out of LD_LIBRARY_PATH and LD_PRELOAD (`ldd` shows which), "
                       "or build again"});
    }
}

void add_unequal_ranks(const std::vector<RankFacts>& ranks, Findings& all) {
    const RankFacts& first = ranks.front();
    for (size_t i = 0; i < first.libraries.size(); ++i) {
        const auto other = std::ranges::find_if(ranks, [&](const RankFacts& rank) {
            return i >= rank.libraries.size() || rank.libraries[i].loaded != first.libraries[i].loaded;
        });
        if (other == ranks.end()) continue;
        const std::string theirs = i < other->libraries.size() ? other->libraries[i].loaded : "absent";
        all.push_back({Severity::wrong,
                       first.libraries[i].name + ": " + first.libraries[i].loaded + " on " +
                           ranks_text({&first.place}) + ", " + theirs + " on " + ranks_text({&other->place}),
                       "install the same patchbench and the same libraries on every node, best in one shared folder"});
    }
}

std::string gigabytes(double bytes_per_s) { return fmt::format("{:.2f} GB/s", bytes_per_s * 1e-9); }

/// Of links.
struct Kind {
    const char* name;
    double slow_bytes_per_s;  // between nodes about 10 Gbit/s, within a node a tenth of a memory copy
    const char* fix;
};
constexpr Kind kBetween{"between nodes", 1e9,
                        "name the fast network (Open MPI: UCX_NET_DEVICES, or --mca btl_tcp_if_include; NCCL: "
                        "NCCL_SOCKET_IFNAME, NCCL_IB_HCA), and build with the cluster's own MPI"};
constexpr Kind kWithin{
    "within a node", 0.5e9,
    "where other programs use the processors, check again without them; else messages should go "
    "through shared memory: look at --mca btl (vader, sm), /dev/shm and, for containers, a namespace "
    "for each rank"};

void add_slow(const plan::Topology& topology, const std::vector<LinkSpeed>& links, const Kind& kind, Findings& all) {
    if (links.empty()) return;
    std::vector<double> speeds;
    speeds.reserve(links.size());
    for (const auto& link : links) speeds.push_back(link.bytes_per_s);
    const double usual = median(speeds);
    const auto slowest = std::ranges::min_element(links, {}, &LinkSpeed::bytes_per_s);
    const plan::RankPlace& from = topology.place_of(slowest->from);
    const plan::RankPlace& to = topology.place_of(slowest->to);
    const std::string pair =
        ranks_text({&from}) + " to " + ranks_text({&to}) + ": " + gigabytes(slowest->bytes_per_s) + " " + kind.name;
    if (usual < kind.slow_bytes_per_s)
        all.push_back({Severity::advice, pair, kind.fix});
    else if (links.size() > 2 && slowest->bytes_per_s < usual / 2)
        all.push_back({Severity::advice, pair + ", " + gigabytes(usual) + " elsewhere",
                       "leave that node out, or have it looked at"});
}

/// A limit that `ulimit` sets.
struct LimitKind {
    const char* option;
    const char* what;
    const char* effect;
};

void add_limit(const std::vector<RankFacts>& ranks, const LimitKind& kind, Findings& all) {
    std::vector<const plan::RankPlace*> limited;
    int64_t least_kib = std::numeric_limits<int64_t>::max();
    for (const auto& rank : ranks) {
        const auto limit = rank.limits_kib.find(kind.option);
        if (limit == rank.limits_kib.end()) continue;
        least_kib = std::min(least_kib, limit->second);
        limited.push_back(&rank.place);
    }
    if (limited.empty()) return;
    all.push_back(
        {Severity::advice,
         fmt::format("{}: {} limited to {} KiB (ulimit {})", ranks_text(limited), kind.what, least_kib, kind.option),
         fmt::format("{}: `ulimit {} unlimited` where the ranks are started", kind.effect, kind.option)});
}

}  // namespace

Findings find_launcher_findings(const std::vector<RankFacts>& ranks) {
    if (ranks.size() != 1) return {};
    const auto& variables = ranks.front().variables;
    const auto tasks = variables.find("SLURM_NTASKS");
    if (tasks == variables.end() || tasks->second == "1" || variables.contains("SLURM_STEP_NUM_TASKS")) return {};
    return {{Severity::advice, "one rank, in a Slurm job of " + tasks->second + " tasks",
             "start it with srun --mpi=pmix (launch/slurm.sbatch)"}};
}

Findings find_library_findings(const std::vector<RankFacts>& ranks) {
    Findings all;
    if (ranks.empty()) return all;
    add_version_mismatch(ranks.front(), all);
    add_unequal_ranks(ranks, all);
    return all;
}

Findings find_limit_findings(const std::vector<RankFacts>& ranks) {
    Findings all;
    add_limit(ranks, {"-v", "addresses are", "CUDA and LibTorch reserve far more of them than they use"}, all);
    add_limit(ranks, {"-f", "sizes of files are", "larger outputs fail, and larger images that ranks share"}, all);
    if (topology_of(ranks).num_nodes() > 1)
        add_limit(ranks, {"-l", "locked memory is", "InfiniBand locks the memory of messages"}, all);
    return all;
}

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
        const bool same = topology.place_of(link.from).node == topology.place_of(link.to).node;
        (same ? within : between).push_back(link);
    }
    Findings all;
    add_slow(topology, within, kWithin, all);
    add_slow(topology, between, kBetween, all);
    return all;
}

}  // namespace pb::doctor
