// What is wrong with a launch, and how to fix it: computed from the facts of all ranks (launch_facts.hpp), printed by
// `check`. Each finding names its ranks and its fix.
#pragma once

#include "record/environment.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb::doctor {

enum class Severity : uint8_t {
    advice,  // the launch works, but more slowly or differently than it could
    wrong    // figures or pixels of this launch are worthless: exit code 2
};

struct Finding {
    Severity severity = Severity::advice;
    std::string what;
    std::string fix;
};
using Findings = std::vector<Finding>;

/// Version of a library at compile time and at run time; empty when unknown.
using LoadedLibrary = record::Environment::Library;

/// Facts that one rank knows about itself.
struct RankFacts {
    plan::RankPlace place;
    std::optional<int> announced_local_rank;       // from the launcher
    std::vector<int> cores;                        // in the affinity mask, each named by its first hardware thread
    std::vector<int> memory_nodes;                 // next to those cores
    std::optional<int> device_memory_node;         // next to the GPU
    int node_cores = 0;                            // cores of the host
    std::vector<std::string> visible_devices;      // UUIDs, in CUDA's order
    std::string why_no_device;                     // when a GPU was requested and none is usable
    std::map<std::string, std::string> variables;  // those of launch_variables() that are set
    std::vector<LoadedLibrary> libraries;          // including patchbench itself
    std::map<std::string, int64_t> limits_kib;  // of the process, by the option of `ulimit`: "-v"; no entry: unlimited
};

/// Environment variables that decide which devices and cores a rank sees.
[[nodiscard]] const std::vector<std::string>& launch_variables();

/// One line for each variable that is set on some rank: "OMP_NUM_THREADS=4", with ranks when they differ.
[[nodiscard]] std::vector<std::string> variable_lines(const std::vector<RankFacts>& ranks);

/// Shared, idle, hidden or missing devices; a local rank that launcher and MPI see differently.
[[nodiscard]] Findings find_device_findings(const std::vector<RankFacts>& ranks);
/// Ranks on the same cores, one core for many threads, cores far from the GPU.
[[nodiscard]] Findings find_binding_findings(const std::vector<RankFacts>& ranks);
/// Libraries whose version differs from compile time or between ranks.
[[nodiscard]] Findings find_library_findings(const std::vector<RankFacts>& ranks);
/// Limits of the process (`ulimit`) at which libraries or large outputs fail.
[[nodiscard]] Findings find_limit_findings(const std::vector<RankFacts>& ranks);
/// A Slurm job of several tasks that started a single rank.
[[nodiscard]] Findings find_launcher_findings(const std::vector<RankFacts>& ranks);

/// All findings above.
[[nodiscard]] Findings launch_findings(const std::vector<RankFacts>& ranks);

/// Ranks whose device computed a tiny network with a larger difference from the reference than `tolerance`; `errors`
/// has the difference of each rank.
[[nodiscard]] Findings tiny_findings(const std::vector<double>& errors, double tolerance,
                                     const plan::Topology& topology);

[[nodiscard]] bool any_wrong(const Findings& all);

[[nodiscard]] plan::Topology topology_of(const std::vector<RankFacts>& ranks);

/// Speed of messages from one rank to another, measured there and back.
struct LinkSpeed {
    int from = 0;
    int to = 0;
    double bytes_per_s = 0;
    double latency_s = 0;
};

/// The pairs to measure: the first two ranks of each node, and the first ranks of consecutive nodes, in a ring.
[[nodiscard]] std::vector<std::pair<int, int>> links_to_measure(const plan::Topology& topology);
/// Slow links, between nodes and within.
[[nodiscard]] Findings find_link_findings(const plan::Topology& topology, const std::vector<LinkSpeed>& links);

/// "rank 2@a", "ranks 0-3@a, 6@b": places in rank order.
[[nodiscard]] std::string ranks_text(const std::vector<const plan::RankPlace*>& places);

// The text of `check` (check_text.cpp).

/// Versions, MPI, variables and the table of ranks, which fits `width` characters.
[[nodiscard]] std::string launch_text(const std::vector<RankFacts>& ranks, std::optional<bool> cuda_aware,
                                      size_t width);
[[nodiscard]] std::string links_text(const plan::Topology& topology, const std::vector<LinkSpeed>& links);
/// `errors` has the largest difference on each rank; it must not be empty.
[[nodiscard]] std::string tiny_text(const std::vector<double>& errors);
/// The findings with their fixes, and the last line: "CHECK: OK" or the number of findings.
[[nodiscard]] std::string findings_text(const Findings& all);

}  // namespace pb::doctor
