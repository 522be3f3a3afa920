#include "patchbench/network/network_facts.hpp"

#include "network/graph_facts.hpp"
#include "network/receptive_field.hpp"

#include <map>
#include <mutex>

namespace pb::network {

namespace {

NetworkFacts facts_of(NetworkKind kind, const Graph& graph) {
    const int64_t alignment = alignment_of(graph);
    return {.kind = kind,
            .alignment = alignment,
            .step = alignment,
            .receptive_radius = receptive_radius_of(graph),
            .exact_halo = exact_halo_of(graph),
            .takes_sigma = takes_sigma(graph),
            .parameters = parameters_of(graph),
            .mac_per_pixel = mac_per_pixel(graph),
            .values_per_pixel = values_moved_per_pixel(graph),
            .num_convolutions = num_convolutions(graph),
            .widest_map = widest_map_of(graph)};
}

NetworkFacts facts_of(const NetworkShape& shape) { return facts_of(kind_of(shape), graph_of(shape)); }

NetworkFacts facts_of(const NetworkCard& card) {
    if (card.layers) return facts_of(kCustomKind, *card.layers);
    return {.kind = kCustomKind,
            .alignment = card.alignment,
            .step = card.extent_step(),
            .receptive_radius = card.radius.value_or(0),
            .exact_halo = card.halo.value_or(0),
            .is_bounded = card.halo.has_value(),
            .most_windows = card.batch,
            .takes_sigma = card.sigma != SigmaInput::none,
            .widest_map = 1};
}

/// Facts of `key`, kept from call to call.
template <class Key>
const NetworkFacts& kept_facts(const Key& key) {
    static std::mutex mutex;
    static std::map<Key, NetworkFacts> known;
    const std::scoped_lock lock(mutex);
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, facts_of(key)).first->second;
}

}  // namespace

const NetworkFacts& network_facts(const NetworkShape& shape) { return kept_facts(shape); }

const NetworkFacts& network_facts(const NetworkCard& card) { return kept_facts(card); }

}  // namespace pb::network
