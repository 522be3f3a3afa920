#include "network/key_layout.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pb::network {

bool CheckpointTensors::has(const std::string& name) const { return shapes.contains(name + ".weight"); }

int64_t CheckpointTensors::channels_made(const std::string& name, int64_t otherwise) const {
    constexpr int64_t kMostChannels = 4096;
    const auto found = shapes.find(name + ".weight");
    if (found == shapes.end() || found->second.size() != 4) return otherwise;
    return std::clamp<int64_t>(found->second.front(), 1, kMostChannels);
}

int64_t CheckpointTensors::last_index(std::string_view prefix) const {
    constexpr int64_t kMostIndices = 1000;
    int64_t last = -1;
    for (const auto& [key, shape] : shapes) {
        if (!key.starts_with(prefix)) continue;
        int64_t index = 0;
        const auto [end, error] = std::from_chars(key.data() + prefix.size(), key.data() + key.size(), index);
        if (error != std::errc{}) continue;
        const std::string_view part(end);
        if ((part == ".weight" && shape.size() == 4) || (part == ".bias" && shape.size() == 1))
            last = std::max(last, index);
    }
    return std::min(last, kMostIndices);
}

std::vector<KeyLayout> canonical_layouts(const std::string& name, const NetworkShape& standard,
                                         const NetworkShape& found) {
    std::vector<KeyLayout> layouts{{name, standard, graph_of(standard)}};
    if (found != standard) layouts.push_back({name, found, graph_of(found)});
    return layouts;
}

std::vector<KeyLayout> known_layouts(const CheckpointTensors& tensors) {
    std::vector<KeyLayout> all;
    for (const int64_t channels : {3, 1})
        for (const auto& [kind, name] : enum_table<NetworkKind>())
            std::visit(
                [&](const auto& standard) { std::ranges::move(standard.layouts(tensors), std::back_inserter(all)); },
                standard_shape(kind, channels));
    return all;
}

}  // namespace pb::network
