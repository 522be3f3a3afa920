#include "engine/native/packed_weights.hpp"

#include "network/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace pb::engine::native {

namespace {

using Layers = std::vector<std::optional<PackedLayer>>;

/// The layers of a block that begins at `place`. They depend on the graph and the form alone, so they are the same in
/// all processes.
Layers layers_in(const float* place, const network::Graph& graph, network::WinogradForm form) {
    Layers layers(graph.size());
    const auto take = [&place](int64_t floats) {
        return std::exchange(place, place + round_up(floats, network::kNativeLanes));
    };
    for (const size_t operation : network::convolutions_of(graph)) {
        const network::NativeConvolution convolution = network::native_convolution(graph, operation, form);
        const float* const weights = take(convolution.packed_weights());
        layers[operation] = {convolution, weights, take(convolution.packed_bias())};
    }
    return layers;
}

std::span<float> part_of(std::span<float> block, const float* part, int64_t floats) {
    return block.subspan(static_cast<size_t>(part - block.data()), static_cast<size_t>(floats));
}

/// `block`: zeros.
void pack(const Weights& weights, const network::Graph& graph, network::WinogradForm form, std::span<float> block) {
    const Layers layers = layers_in(block.data(), graph, form);
    for (const size_t operation : network::convolutions_of(graph)) {
        const auto& [convolution, packed, bias] = *layers[operation];
        const Convolution& from = weights.convolution(graph[operation].filter->weights);
        pack_weights(convolution, from, part_of(block, packed, convolution.packed_weights()));
        pack_bias(convolution, from, part_of(block, bias, convolution.packed_bias()));
    }
}

/// Says all that the packed values depend on. Norms and gains are in the digest.
std::string name_of_block(const std::string& digest, const network::Graph& graph, network::WinogradForm form) {
    return fmt::format("native weights {}, tiles of {}{}\n{}", digest, form.tile, form.bf16 ? ", bf16" : "",
                       network::line_of(graph));
}

}  // namespace

PackedWeights::PackedWeights(const Weights& weights, const network::Graph& graph, network::WinogradForm form,
                             const SharedWeights& shared) {
    const auto bytes = static_cast<size_t>(network::native_weight_bytes(graph, form));
    const auto pack_into = [&](std::span<std::byte> block) {
        pack(weights, graph, form, {reinterpret_cast<float*>(block.data()), block.size() / sizeof(float)});
    };
    if (shared.blocks != nullptr) {
        counted_.emplace(network::native_weight_bytes(graph, form, shared.num_processes));
        shared_ = shared.blocks->find(name_of_block(shared.digest, graph, form), bytes, pack_into);
        layers_ = layers_in(reinterpret_cast<const float*>(shared_.get()), graph, form);
        return;
    }
    own_ = EngineBuffer({}, bytes);
    auto* const block = static_cast<std::byte*>(own_.pointer());
    std::fill_n(block, bytes, std::byte{0});
    pack_into({block, bytes});
    layers_ = layers_in(static_cast<const float*>(own_.pointer()), graph, form);
}

}  // namespace pb::engine::native
