#include "patchbench/network/network_facts.hpp"

#include "patchbench/network/facts.hpp"
#include "patchbench/network/receptive_field.hpp"

namespace pb {

namespace {

constexpr int64_t gray_or_colour(int64_t channels) { return channels == 1 ? 1 : 3; }

/// By kind, gray before colour.
std::vector<NetworkFacts> standard_facts() {
    std::vector<NetworkFacts> facts;
    for (const auto& [kind, name] : EnumNames<NetworkKind>::names)
        for (const int64_t channels : {1, 3}) facts.push_back(facts_of(standard_shape(kind, channels)));
    return facts;
}

}  // namespace

NetworkFacts facts_of(const NetworkShape& shape) {
    const Graph graph = graph_of(shape);
    return {.kind = kind_of(shape),
            .alignment = alignment_of(graph),
            .receptive_radius = receptive_radius_of(graph),
            .exact_halo = exact_halo_of(graph),
            .takes_sigma = takes_sigma(graph),
            .parameters = parameters_of(graph),
            .mac_per_pixel = mac_per_pixel(graph),
            .values_per_pixel = values_moved_per_pixel(graph),
            .num_convolutions = num_convolutions(graph),
            .widest_map = widest_map_of(graph)};
}

const NetworkFacts& network_facts(NetworkKind kind, int64_t channels) {
    static const std::vector<NetworkFacts> facts = standard_facts();
    return facts.at(2 * static_cast<size_t>(kind) + (gray_or_colour(channels) == 1 ? 0 : 1));
}

std::vector<MemorySize> network_peaks(NetworkKind kind, int64_t channels, const MemoryPath& path) {
    return peak_sizes(plan_memory(graph_of(standard_shape(kind, gray_or_colour(channels))), path));
}

}  // namespace pb
