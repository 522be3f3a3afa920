// Weights from a seed. A value is a function of (seed, network, tensor, element), so it does not depend on the order.
// Only +, *, / and sqrt are used, which IEEE 754 rounds identically everywhere. The weights are not trained: they are
// for tests and timing.
#include "base/counter_random.hpp"
#include "engine/weights/batch_norm.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::engine {
namespace {

const double kBeforeRelu = std::sqrt(2.0);  // gain that keeps the mean square through a ReLU

// The random streams of one convolution. Changing their numbers changes the weights of every seed.
enum class Part : uint32_t { weight, bias, scale, shift, mean, variance };

class SeededValues {
  public:
    SeededValues(uint64_t seed, network::NetworkKind kind, uint32_t layer)
        : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
          stream_(static_cast<uint32_t>(kind) << 24 | layer << 8) {}

    /// `count` values, uniform on [centre - spread, centre + spread].
    [[nodiscard]] std::vector<float> uniform(Part part, int64_t count, double centre, double spread) const {
        std::vector<float> values(static_cast<size_t>(count));
        const double unit = spread * 0x1p-31;  // value of the lowest bit of a signed word
        for (size_t i = 0; i < values.size(); i += 4) {
            const auto words =
                philox({static_cast<uint32_t>(i / 4), stream_ | static_cast<uint32_t>(part), 0, 0}, key_);
            const size_t end = std::min(values.size() - i, words.size());
            for (size_t j = 0; j < end; ++j)
                values[i + j] = static_cast<float>(centre + static_cast<int32_t>(words[j]) * unit);
        }
        return values;
    }

  private:
    std::array<uint32_t, 2> key_;
    uint32_t stream_;
};

// Values far from those of an untrained norm (1, 0, 0, 1), so that tests notice a part that folding leaves out.
void fold_random_norm(const SeededValues& values, Convolution& convolution) {
    const int64_t count = convolution.out_channels;
    const auto scale = values.uniform(Part::scale, count, 1.0, 0.3);
    const auto shift = values.uniform(Part::shift, count, 0.0, 0.2);
    const auto mean = values.uniform(Part::mean, count, 0.0, 0.2);
    const auto variance = values.uniform(Part::variance, count, 1.0, 0.5);
    fold({scale, shift, mean, variance, 1e-5}, convolution);
}

bool is_before_relu(const network::Graph& graph, size_t index) {
    for (size_t i = index + 1; i < graph.size(); ++i)
        if (graph[i].kind == network::OperationKind::relu && graph[i].operands.front() == index) return true;
    return false;
}

Convolution make_convolution(const network::Graph& graph, size_t index, const SeededValues& values) {
    constexpr double kBias = 0.05;
    const network::TensorShapes shapes = network::tensor_shapes(graph, index);
    const double gain = graph[index].filter->gain * (is_before_relu(graph, index) ? kBeforeRelu : 1);
    // A uniform distribution on [-a, a] has the standard deviation a / sqrt(3).
    const double spread = std::sqrt(3.0) * gain / std::sqrt(static_cast<double>(shapes.fan_in()));
    Convolution convolution{shapes, values.uniform(Part::weight, shapes.weight_values(), 0.0, spread), {}};
    if (shapes.has_bias) convolution.bias = values.uniform(Part::bias, shapes.out_channels, 0.0, kBias);
    if (!shapes.norm.empty()) fold_random_norm(values, convolution);
    return convolution;
}

}  // namespace

Weights make_seeded_weights(const network::NetworkShape& shape, uint64_t seed) {
    const network::NetworkKind kind = network::kind_of(shape);
    Weights weights{
        .shape = shape, .source = fmt::format("seed:{}", seed), .layout = std::string(name_of(kind)) + " (seeded)"};
    const network::Graph graph = network::graph_of(shape);
    uint32_t layer = 0;
    for (const size_t index : network::convolutions_of(graph))
        weights.convolutions[graph[index].filter->weights] =
            make_convolution(graph, index, SeededValues(seed, kind, layer++));
    weights.sha256 = sha256_of_values(weights);
    return weights;
}

Weights make_seeded_weights(network::NetworkKind kind, int64_t channels, uint64_t seed) {
    if (channels != 1 && channels != 3)
        throw UsageError(fmt::format("seeded weights for {} channels: 1 (gray) or 3 (colour)", channels));
    return make_seeded_weights(network::standard_shape(kind, channels), seed);
}

}  // namespace pb::engine
