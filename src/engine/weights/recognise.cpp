// Recognises the layout of tensors: the one that shares most names with them. Every difference to it is an error; only
// what lies beside the network, under other prefixes, is left out and named.
#include "base/mapped.hpp"
#include "base/text.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/weights/batch_norm.hpp"
#include "engine/weights/key_match.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <span>

namespace pb::engine {
namespace {

using Shape64 = std::vector<int64_t>;

/// Counters of the training, which have no effect on inference: of batch norm, and of AveragedModel.
bool is_counter(const std::string& key) {
    return key.ends_with(".num_batches_tracked") || key == "n_averaged" || key.ends_with(".n_averaged");
}

std::string text_of(const Shape64& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// `; 5 missing: 'a', 'b', 'c', 'd' and 1 more`, or an empty text.
std::string listed(const std::vector<std::string>& names, const std::string& what) {
    constexpr size_t kFew = 4;
    return names.empty() ? "" : fmt::format("; {} {}: {}", names.size(), what, first_of(names, kFew));
}

std::string differences(const Match& match, const StateDict& tensors) {
    std::vector<std::string> missing, surplus, misshapen;
    for (const auto& [key, shape] : match.expected) {
        const auto found = tensors.find(key);
        if (found == tensors.end())
            missing.push_back(shown(key));
        else if (found->second.shape != shape)
            misshapen.push_back(shown(key) + " is " + text_of(found->second.shape) + ", not " + text_of(shape));
    }
    for (const auto& [key, tensor] : tensors)
        if (!match.expected.contains(key)) surplus.push_back(shown(key));
    return listed(missing, "missing") + listed(surplus, "surplus") + listed(misshapen, "of another shape");
}

std::vector<std::string> keys_of(const StateDict& tensors) {
    return mapped(tensors, [](const auto& item) { return item.first; });
}

/// The tensors whose keys begin with `prefix`, without it.
StateDict tensors_under(const std::string& prefix, StateDict&& tensors) {
    StateDict part;
    for (auto& [key, tensor] : tensors)
        if (key.starts_with(prefix)) part[key.substr(prefix.size())] = std::move(tensor);
    return part;
}

void check_values(const StateDict& tensors, const std::string& source) {
    for (const auto& [key, tensor] : tensors) {
        require(checked_elements(tensor.shape) == static_cast<int64_t>(tensor.values.size()),
                source + ", tensor " + shown(key) + ": its shape is not that of its values");
        if (tensor.is_integer)
            throw UsageError(source + ", tensor " + shown(key) +
                             ": integers, as quantised weights are, whose scales are not known; export floats");
        for (size_t i = 0; i < tensor.values.size(); ++i)
            if (!std::isfinite(tensor.values[i]))
                throw UsageError(
                    fmt::format("{}, tensor {}, element {}: not a finite number; the training of these weights "
                                "went wrong, or the file did",
                                source, shown(key), i));
    }
}

void check_match(const Match& match, const StateDict& tensors, const std::string& source) {
    if (!match.is_likely())
        throw UsageError(
            fmt::format("{}: weights of no network that is known here ({}); its {} tensors are {}. Another network "
                        "comes as a file of its own: --network FILE, docs/networks.md",
                        source, names_of<network::NetworkKind>(", "), tensors.size(), first_names(keys_of(tensors))));
    const std::string found = differences(match, tensors);
    if (!found.empty())
        throw UsageError(source + ": looks like " + match.layout.name + ", but does not fit" + found +
                         "; check that it is the right file of the right version");
}

/// Operation `index` of the layout.
Convolution convert(const network::KeyLayout& layout, size_t index, const StateDict& tensors,
                    const std::string& source) {
    const network::Filter& filter = *layout.graph[index].filter;
    Convolution convolution{
        network::tensor_shapes(layout.graph, index), tensors.at(filter.weights + ".weight").values, {}};
    if (filter.has_bias) convolution.bias = tensors.at(filter.weights + ".bias").values;
    if (filter.norm.empty()) return convolution;
    const auto part = [&](size_t i) -> std::span<const float> {
        return tensors.at(filter.norm + kNormParts[i]).values;
    };
    for (size_t c = 0; c < part(3).size(); ++c)
        if (double{part(3)[c]} + layout.eps <= 0)
            throw UsageError(fmt::format("{}, tensor {}, element {}: a negative variance", source,
                                         shown(filter.norm + kNormParts[3]), c));
    fold({part(0), part(1), part(2), part(3), layout.eps}, convolution);
    return convolution;
}

}  // namespace

Weights recognise_weights(const StateDict& all, const std::string& source) {
    StateDict tensors = without_wrappers(StateDict(all), source);
    std::erase_if(tensors, [](const auto& item) { return is_counter(item.first); });
    network::CheckpointTensors file;
    for (const auto& [key, tensor] : tensors) file.shapes[key] = tensor.shape;
    const NetworkPart part = find_network(file, source);
    const std::string where = part.prefix.empty() ? source : source + ", keys under " + shown(part.prefix);
    tensors = tensors_under(part.prefix, std::move(tensors));
    check_match(part.match, tensors, where);
    check_values(tensors, where);
    const network::KeyLayout& layout = part.match.layout;
    Weights weights{.shape = layout.shape, .source = source, .layout = layout.name, .trained = true};
    const network::Graph canonical = network::graph_of(layout.shape);
    for (const size_t index : network::convolutions_of(canonical))
        weights.convolutions[canonical[index].filter->weights] = convert(layout, index, tensors, where);
    weights.sha256 = sha256_of_values(weights);
    weights.note = part.note;
    weights.guess = layout.note;
    return weights;
}

}  // namespace pb::engine
