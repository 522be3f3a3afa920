#include "engine/network_file.hpp"

#include "base/network_format.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "engine/onnx/onnx_model.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/onnx/onnx_tensors.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace pb::engine {
namespace {

/// See files_of_network. `model`: what is in `file`.
std::vector<std::filesystem::path> files_of(const onnx::ModelProto& model, const std::filesystem::path& file) {
    std::vector<std::filesystem::path> files{file};
    try {
        std::ranges::copy(external_files(model.graph(), file), std::back_inserter(files));
    } catch (const UsageError& error) {
        throw UsageError(file.string() + ": a tensor: " + error.what());
    }
    return files;
}

/// See digest_of_network.
std::string digest_of(const std::vector<std::filesystem::path>& files) {
    std::string digests;
    for (const auto& file : files) add_item(digests, sha256_of_file(file), "\n");
    return files.size() == 1 ? digests : sha256_of(std::as_bytes(std::span(digests)));
}

/// `message` without the file's name in front of it.
std::string without_file(const std::string& message, const std::string& file) {
    if (!message.starts_with(file)) return message;
    return message.substr(std::min(message.size(), message.find_first_not_of(",: ", file.size())));
}

network::NetworkCard card_in(const std::filesystem::path& file) {
    const OnnxNetwork found = read_onnx(read_file(file), file.string());
    if (network::num_convolutions(found.graph) == 0) throw UsageError("it has no convolution");
    (void)candidates_in_onnx(file);  // refuses another type and fixed extents
    return network::card_of(found.graph);
}

}  // namespace

std::optional<network::NetworkKind> known_network(const std::filesystem::path& file) {
    const auto format = network_format(file);
    const bool is_pickle = format == NetworkFormat::torchscript && !is_torchscript(file);  // by torch.save
    if (format == NetworkFormat::weights || is_pickle) return network_in_file(file);
    if (format == NetworkFormat::torch_package || format == NetworkFormat::python) return std::nullopt;
    if (format == NetworkFormat::onnx) (void)read_onnx_file(file);
    try {
        return network_in_file(file);
    } catch (const UsageError&) {  // another network, or one that `candidates_in_onnx` refuses
        return std::nullopt;
    }
}

std::optional<EngineKind> sole_engine_of(const std::filesystem::path& file) {
    if (network_format(file) != NetworkFormat::torch_package || is_compiled_package(file)) return std::nullopt;
    return EngineKind::pytorch;
}

LayersInFile layers_in(const std::filesystem::path& file) {
    if (is_code(file)) return {};
    try {
        return {card_in(file), ""};
    } catch (const UsageError& error) {
        return {std::nullopt, without_file(error.what(), file.string())};
    }
}

std::vector<std::filesystem::path> files_of_network(const std::filesystem::path& file) {
    if (network_format(file) != NetworkFormat::onnx) return {file};
    return files_of(load_onnx(file), file);
}

std::string digest_of_network(const std::filesystem::path& file) { return digest_of(files_of_network(file)); }

Weights custom_network(const std::filesystem::path& file, const network::NetworkCard& card) {
    Weights weights;
    weights.card = card;
    weights.source = file.string();
    weights.layout = "custom: " + network::to_text(card);
    weights.trained = true;
    if (is_code(file)) {
        weights.sha256 = sha256_of_file(file);
        return weights;
    }
    const onnx::ModelProto model = load_onnx(file);
    weights.sha256 = digest_of(files_of(model, file));
    take_training_noise(metadata_of(model), weights);
    if (card.layers) weights.convolutions = convolutions_in(file, *card.layers);
    return weights;
}

}  // namespace pb::engine
