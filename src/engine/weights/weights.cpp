#include "patchbench/engine/weights.hpp"

#include "base/sha256.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/weights/batch_norm.hpp"
#include "engine/weights/noise_metadata.hpp"

#include "patchbench/base/error.hpp"

#include <cmath>
#include <span>

namespace pb::engine {
namespace {

void add_digest(std::string& lines, const std::string& key, const std::vector<float>& values) {
    if (!values.empty()) lines += key + " " + sha256_of(std::as_bytes(std::span(values))) + "\n";
}

Weights recognise_file(const std::filesystem::path& file, network::NetworkKind expected = {}) {
    const std::vector<std::byte> bytes = read_file(file);
    const std::string name = file.string();
    if (is_onnx(bytes)) {
        const OnnxNetwork network = read_onnx(bytes, name);
        Weights weights = recognise_network(network, name, expected);
        take_training_noise(network.metadata, weights);
        return weights;
    }
    const Checkpoint checkpoint = read_checkpoint(bytes, name);
    Weights weights =
        recognise_weights(checkpoint.tensors, checkpoint.note.empty() ? name : name + " (" + checkpoint.note + ")");
    weights.source = name;
    if (!checkpoint.note.empty()) weights.note = checkpoint.note + (weights.note.empty() ? "" : "; ") + weights.note;
    take_training_noise(checkpoint.metadata, weights);
    return weights;
}

}  // namespace

network::Graph Weights::graph() const {
    require(has_layers(), "engine: the layers of " + source + " are not known");
    return card ? *card->layers : network::graph_of(shape);
}

const Convolution& Weights::convolution(const std::string& name) const {
    const auto found = convolutions.find(name);
    require(found != convolutions.end(), "engine: the weights of " + source + " lack '" + name + "'");
    return found->second;
}

std::string sha256_of_values(const Weights& weights) {
    if (!weights.has_layers()) return weights.sha256;
    std::string lines;
    for (const auto& [name, convolution] : weights.convolutions) {
        add_digest(lines, name + ".weight", convolution.weight);
        add_digest(lines, name + ".bias", convolution.bias);
    }
    return sha256_of(std::as_bytes(std::span(lines)));
}

Weights load_weights(const std::filesystem::path& file, network::NetworkKind expected) {
    Weights weights = recognise_file(file, expected);
    if (weights.kind() != expected)
        throw UsageError(file.string() + ": weights of " + std::string(name_of(weights.kind())) + ", not of " +
                         std::string(name_of(expected)) + "; choose that network or another file");
    weights.sha256 = digest_of_network(file);
    return weights;
}

network::NetworkKind network_in_file(const std::filesystem::path& file) { return recognise_file(file).kind(); }

void fold(const BatchNorm& norm, Convolution& convolution) {
    const auto channels = static_cast<size_t>(convolution.out_channels);
    const size_t taps = convolution.weight.size() / channels;
    convolution.bias.resize(channels, 0.0f);
    for (size_t c = 0; c < channels; ++c) {
        const double factor = double{norm.scale[c]} / std::sqrt(double{norm.variance[c]} + norm.eps);
        for (size_t i = c * taps; i < (c + 1) * taps; ++i)
            convolution.weight[i] = static_cast<float>(double{convolution.weight[i]} * factor);
        const double centred = double{convolution.bias[c]} - double{norm.mean[c]};
        convolution.bias[c] = static_cast<float>(centred * factor + double{norm.shift[c]});
    }
}

}  // namespace pb::engine
