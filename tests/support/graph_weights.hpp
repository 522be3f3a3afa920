// Networks that are none of the list, as values: their graph, and weights from a seed.
#pragma once

#include "network/card/find_card.hpp"
#include "network/graph_facts.hpp"
#include "network/random_graph.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/engine/weights.hpp"
#include "patchbench/network/graph.hpp"

#include <cmath>

namespace pb::test {

/// As those of a file that a user brings, whose layers are `graph`.
inline engine::Weights weights_of(const network::Graph& graph, uint64_t seed) {
    engine::Weights weights;
    weights.source = "graph";
    weights.trained = true;
    weights.card = network::NetworkCard{.channels = graph.channels_out(), .layers = graph};
    for (const size_t index : network::convolutions_of(graph)) {
        const network::TensorShapes shapes = network::tensor_shapes(graph, index);
        const auto values = [&](int64_t count, double spread) {
            std::vector<float> all = random_values(static_cast<size_t>(count), seed + 2 * index);
            for (float& value : all) value = static_cast<float>(spread * (2 * static_cast<double>(value) - 1));
            return all;
        };
        const network::Filter& filter = *graph[index].filter;
        weights.convolutions[filter.weights] = {
            shapes, values(shapes.weight_values(), std::sqrt(3.0 / static_cast<double>(shapes.fan_in()))),
            filter.has_bias ? values(shapes.out_channels, 0.1) : std::vector<float>{}};
    }
    weights.sha256 = engine::sha256_of_values(weights);
    return weights;
}

/// x + second(relu(first(x))).
inline size_t residual_block(network::GraphBuilder& net, size_t x, int64_t width, const std::string& name) {
    const size_t inner = net.relu(net.convolve(x, width, {.weights = name + ".first", .has_bias = true}));
    return net.add(x, net.convolve(inner, width, {.weights = name + ".second", .has_bias = true}));
}

inline size_t doubled(network::GraphBuilder& net, size_t x, int64_t width, const std::string& name) {
    const network::Filter filter{.weights = name, .kernel = 2, .stride = 2, .has_bias = true};
    return net.append({network::OperationKind::transposed_convolution, {x}, width, filter});
}

/// Every operation and every filter, with Winograd's tiles, at three scales: residual blocks, pooling beside strides,
/// concatenation of three maps. `channels` of the image; one more of the input with `takes_sigma`.
inline network::Graph mixed_graph(int64_t channels = 3, bool takes_sigma = false) {
    network::GraphBuilder net;
    const size_t image = net.input(channels + (takes_sigma ? 1 : 0));
    const size_t head = net.relu(net.convolve(image, 32, {.weights = "head", .has_bias = true}));
    const size_t full = residual_block(net, residual_block(net, head, 32, "body.0"), 32, "body.1");
    const size_t pooled = net.max_pool(full), strided = net.convolve(full, 32, {.weights = "down", .stride = 2});
    const size_t half = residual_block(net, net.subtract(pooled, strided), 32, "low");
    const size_t quarter = net.relu(net.convolve(half, 64, {.weights = "lowest", .kernel = 2, .stride = 2}));
    const size_t thin = net.convolve(half, 64, {.weights = "thin", .kernel = 1, .stride = 2, .has_bias = true});
    const size_t up = doubled(net, net.add(quarter, thin), 32, "up.0");
    const size_t joined = net.append(
        {.kind = network::OperationKind::concatenate, .operands = {half, net.relu(up), net.upsample(quarter)}});
    const size_t mixed = net.convolve(joined, 16, {.weights = "mix", .kernel = 1});
    const size_t whole = net.concatenate(full, doubled(net, mixed, 16, "up.1"));
    const size_t noise = net.convolve(whole, channels, {.weights = "tail", .has_bias = true});
    takes_sigma ? net.relu(noise) : net.subtract(image, noise);
    return net.graph();
}

/// Concatenations that convolutions by Winograd's method read: of three maps with two readers, one of which adds an
/// operand to it; with another reader, which pools it; of a map with an odd number of channels.
inline network::Graph joined_graph() {
    network::GraphBuilder net;
    const size_t image = net.input(3);
    const size_t head = net.relu(net.convolve(image, 18, {.weights = "head", .has_bias = true}));
    const size_t body = net.convolve(head, 32, {.weights = "body"});
    const size_t up = doubled(net, net.convolve(net.max_pool(body), 17, {.weights = "low"}), 48, "up");
    const size_t three = net.append({.kind = network::OperationKind::concatenate, .operands = {head, body, up}});
    const size_t relu = net.relu(net.convolve(three, 16, {.weights = "three.relu", .has_bias = true}));
    const size_t sum = net.add(net.convolve(three, 32, {.weights = "three.sum"}), body);
    const size_t shared = net.concatenate(relu, sum);
    const size_t pooled = net.upsample(net.max_pool(shared));
    const size_t odd = net.convolve(shared, 17, {.weights = "odd"});
    const size_t even = net.convolve(net.concatenate(odd, relu), 16, {.weights = "even"});
    const size_t last = net.convolve(net.concatenate(even, pooled), 32, {.weights = "last"});
    net.add(net.convolve(last, 3, {.weights = "tail", .kernel = 1}), image);
    return net.graph();
}

/// A few layers, in whose weights the far end of the receptive field is seen.
inline network::Graph seen_graph() {
    network::GraphBuilder net;
    const size_t image = net.input(1);
    const size_t first = net.convolve(image, 2, {.weights = "first"});
    const size_t low = net.convolve(net.max_pool(first), 2, {.weights = "low"});
    const size_t joined = net.concatenate(first, doubled(net, low, 2, "up"));
    net.add(net.convolve(joined, 1, {.weights = "last", .has_bias = true}), image);
    return net.graph();
}

/// Graphs that end in each of the operations that can make an output.
inline std::vector<network::Graph> endings() {
    std::vector<network::Graph> graphs;
    const auto with_end = [&](auto append) {
        network::GraphBuilder net;
        const size_t image = net.input(2);
        append(net, image, net.convolve(image, 2, {.weights = "first", .stride = 2}));
        graphs.push_back(net.graph());
    };
    with_end([](auto& net, size_t, size_t half) { net.upsample(half); });
    with_end([](auto& net, size_t, size_t half) { doubled(net, half, 1, "up"); });
    with_end([](auto& net, size_t, size_t half) { net.relu(net.upsample(half)); });
    with_end([](auto& net, size_t image, size_t half) { net.relu(net.add(net.upsample(half), image)); });
    with_end([](auto& net, size_t image, size_t half) { net.concatenate(net.upsample(half), image); });
    with_end([](auto& net, size_t image, size_t half) { net.concatenate(image, net.upsample(net.add(half, half))); });
    with_end([](auto& net, size_t image, size_t half) { net.subtract(net.relu(image), net.upsample(half)); });
    return graphs;
}

/// Those above, and some that are random.
inline std::vector<network::Graph> any_graphs(uint32_t num_random) {
    std::vector<network::Graph> graphs = endings();
    for (const bool takes_sigma : {false, true}) graphs.push_back(mixed_graph(3, takes_sigma));
    graphs.push_back(joined_graph());
    for (uint32_t seed = 0; seed < num_random; ++seed) graphs.push_back(RandomGraph(seed).make());
    return graphs;
}

/// Random ones, most of whose convolutions are by Winograd's method.
inline std::vector<network::Graph> wide_graphs(uint32_t count) {
    std::vector<network::Graph> graphs;
    for (uint32_t seed = 0; seed < count; ++seed) graphs.push_back(RandomGraph(seed, 16).make());
    return graphs;
}

}  // namespace pb::test
