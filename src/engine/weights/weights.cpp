#include "patchbench/engine/weights.hpp"

#include "base/noise_level.hpp"
#include "base/sha256.hpp"
#include "engine/checkpoint/readers.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/weights/batch_norm.hpp"
#include "engine/weights_file.hpp"

#include "patchbench/base/error.hpp"

#include <charconv>
#include <cmath>
#include <span>

namespace pb::engine {
namespace {

double parse_trained_sigma(const std::string& text, const std::string& where) {
    double sigma = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sigma);
    if (error != std::errc{} || end != text.data() + text.size() || !(sigma >= kSmallestSigma && sigma <= 1))
        throw UsageError(where + ": " + shown(text) +
                         " is no noise level in [0,1] units (25 of 255 grey levels are 0.098)");
    return sigma;
}

// Both words are in use; when a file has both, they must agree.
std::optional<double> trained_sigma(const std::map<std::string, std::string>& metadata, const std::string& source) {
    std::optional<double> known;
    for (const char* word : {"sigma_train", "sigma"}) {
        const auto found = metadata.find(word);
        if (found == metadata.end()) continue;
        const double sigma = parse_trained_sigma(found->second, source + ", metadata " + shown(word));
        if (known && *known != sigma)
            throw UsageError(source +
                             ", metadata 'sigma_train' and 'sigma': they say two noise levels; leave the wrong "
                             "one out");
        known = sigma;
    }
    return known;
}

/// The end of `sigma_range: <a> to <b>`, in [0,1] units. None where the metadata have none that reads so.
std::optional<double> most_sigma(const std::map<std::string, std::string>& metadata) {
    constexpr std::string_view kTo = " to ";
    const auto found = metadata.find("sigma_range");
    const size_t at = found == metadata.end() ? std::string::npos : found->second.find(kTo);
    if (at == std::string::npos) return std::nullopt;
    const char* const end = found->second.data() + found->second.size();
    double sigma = 0;
    const auto [rest, error] = std::from_chars(found->second.data() + at + kTo.size(), end, sigma);
    return error == std::errc{} && rest == end && sigma > 0 && sigma <= 1 ? std::optional(sigma) : std::nullopt;
}

void add_digest(std::string& lines, const std::string& key, const std::vector<float>& values) {
    if (!values.empty()) lines += key + " " + sha256_of(std::as_bytes(std::span(values))) + "\n";
}

Weights recognise_file(const std::filesystem::path& file, network::NetworkKind expected = {}) {
    const std::vector<std::byte> bytes = read_file(file);
    const std::string name = file.string();
    if (is_onnx(bytes) && !is_safetensors(bytes)) {
        const OnnxNetwork network = read_onnx(bytes, name);
        Weights weights = recognise_network(network, name, expected);
        weights.trained_sigma = trained_sigma(network.metadata, name);
        return weights;
    }
    const Checkpoint checkpoint = read_checkpoint(bytes, name);
    Weights weights =
        recognise_weights(checkpoint.tensors, checkpoint.note.empty() ? name : name + " (" + checkpoint.note + ")");
    weights.source = name;
    if (!checkpoint.note.empty()) weights.note = checkpoint.note + (weights.note.empty() ? "" : "; ") + weights.note;
    weights.trained_sigma = trained_sigma(checkpoint.metadata, name);
    weights.most_sigma = most_sigma(checkpoint.metadata);
    return weights;
}

}  // namespace

int64_t Weights::parameters() const {
    size_t values = 0;
    for (const auto& [name, convolution] : convolutions) values += convolution.weight.size() + convolution.bias.size();
    return static_cast<int64_t>(values);
}

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
    weights.sha256 = sha256_of_file(file);
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
