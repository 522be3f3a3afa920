// What is wrong with a launch, and how it is put right: arithmetic over what the ranks know of themselves, gathered by
// `run`, printed by `check`. Each finding names the ranks it is about and its fix.
#pragma once

#include "plan/topology.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb {

enum class Severity : uint8_t {
    advice,  // it runs, and slower or otherwise than it could
    wrong    // figures or pixels of this launch mean nothing: exit code 2
};

struct Finding {
    Severity severity = Severity::advice;
    std::string what;
    std::string fix;
};
using Findings = std::vector<Finding>;

/// A library as it was compiled against and as it is loaded; empty where unknown.
struct LoadedLibrary {
    std::string name;
    std::string header;
    std::string loaded;
};

/// What one rank knows beyond its place.
struct RankFacts {
    RankPlace place;
    std::optional<int> announced_local_rank;       // as the launcher says
    std::vector<int> cores;                        // in the affinity mask, each by its first hardware thread
    std::vector<int> memory_nodes;                 // beside those
    std::optional<int> device_memory_node;         // beside the GPU
    int node_cores = 0;                            // of the host
    std::vector<std::string> visible_devices;      // UUIDs, in CUDA's order
    std::string why_no_device;                     // where a GPU was wished for and none is usable
    std::map<std::string, std::string> variables;  // of launch_variables(), those that are set
    std::vector<LoadedLibrary> libraries;          // patchbench itself among them
};

/// Environment variables that decide which devices and cores a rank sees.
[[nodiscard]] const std::vector<std::string>& launch_variables();

/// One line a variable that is set somewhere: "OMP_NUM_THREADS=4", or with ranks where they differ.
[[nodiscard]] std::vector<std::string> variable_lines(const std::vector<RankFacts>& ranks);

/// Shared, idle, hidden or missing devices; a local rank that launcher and MPI see differently.
[[nodiscard]] Findings find_device_findings(const std::vector<RankFacts>& ranks);
/// Ranks on the same cores, one core for many threads, cores far from the GPU.
[[nodiscard]] Findings find_binding_findings(const std::vector<RankFacts>& ranks);
/// Loaded libraries that are not those compiled against; ranks that differ.
[[nodiscard]] Findings find_library_findings(const std::vector<RankFacts>& ranks);
/// The launcher's tasks that are not there.
[[nodiscard]] Findings find_launcher_findings(const std::vector<RankFacts>& ranks);

/// Speed of messages from one rank to another, measured there and back.
struct LinkSpeed {
    int from = 0;
    int to = 0;
    double bytes_per_s = 0;
    double latency_s = 0;
};

/// The pairs to measure: the first two ranks of each node; the first ranks of nodes that follow each other, in a ring.
[[nodiscard]] std::vector<std::pair<int, int>> links_to_measure(const Topology& topology);
/// Slow links, between nodes and within.
[[nodiscard]] Findings find_link_findings(const Topology& topology, const std::vector<LinkSpeed>& links);

/// "rank 2@a", "ranks 0-3@a, 6@b": places in rank order.
[[nodiscard]] std::string ranks_text(const std::vector<const RankPlace*>& places);

}  // namespace pb
