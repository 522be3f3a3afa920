// ONNX models of networks that are not in the list, but whose operations all are those of a Graph.
#include "engine/brought.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine {
namespace {

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

LayersInFile layers_in(const std::filesystem::path& file) {
    if (is_code(file)) return {};
    try {
        return {card_in(file), ""};
    } catch (const UsageError& error) {
        return {std::nullopt, without_file(error.what(), file.string())};
    }
}

std::map<std::string, Convolution> convolutions_in(const std::filesystem::path& file, const network::Graph& layers) {
    OnnxNetwork found = read_onnx(read_file(file), file.string());
    if (found.graph != layers) throw UsageError(file.string() + ": has other layers than when it was looked at");
    std::map<std::string, Convolution> convolutions;
    for (const size_t index : network::convolutions_of(layers)) {
        const std::string& name = layers[index].filter->weights;
        convolutions.emplace(name, std::move(found.convolutions.at(name)));
    }
    return convolutions;
}

}  // namespace pb::engine
