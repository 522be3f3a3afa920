// Recognises the layout of tensors: the one that shares most names with them. Every difference to it is an error.
#include "base/sha256.hpp"
#include "engine/checkpoint/element_type.hpp"
#include "engine/weights/batch_norm.hpp"
#include "network/graph_facts.hpp"
#include "network/key_layout.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace pb::engine {
namespace {

using Shape64 = std::vector<int64_t>;
using Expected = std::map<std::string, Shape64>;

// Parts of a batch norm in PyTorch; a further one, num_batches_tracked, has no effect on inference.
constexpr std::array<const char*, 4> kNormParts{".weight", ".bias", ".running_mean", ".running_var"};
constexpr std::string_view kIgnored = ".num_batches_tracked";

Expected expected_tensors(const network::KeyLayout& layout) {
    Expected expected;
    for (const auto& [name, shapes] : network::checkpoint_shapes(layout.graph)) {
        expected[name + ".weight"] = shapes.weight_shape();
        if (shapes.has_bias) expected[name + ".bias"] = {shapes.out_channels};
        if (shapes.norm.empty()) continue;
        for (const char* part : kNormParts) expected[shapes.norm + part] = {shapes.out_channels};
    }
    return expected;
}

struct Match {
    network::KeyLayout layout;
    Expected expected;
    size_t names = 0;  // names of the layout that the file has
    double score = 0;  // 2 when all names and shapes agree and there are no others
};

Match compare(const network::KeyLayout& layout, const StateDict& tensors) {
    Match match{.layout = layout, .expected = expected_tensors(layout)};
    size_t shapes = 0;
    for (const auto& [key, shape] : match.expected) {
        const auto found = tensors.find(key);
        if (found == tensors.end()) continue;
        ++match.names;
        if (found->second.shape == shape) ++shapes;
    }
    const size_t together = match.expected.size() + tensors.size() - match.names;
    match.score = static_cast<double>(match.names + shapes) / static_cast<double>(together);
    return match;
}

/// The layout with the highest score; the first one among equal scores.
Match best_match(const StateDict& tensors) {
    network::CheckpointTensors file;
    for (const auto& [key, tensor] : tensors) file.shapes[key] = tensor.shape;
    std::vector<Match> matches;
    for (const network::KeyLayout& layout : network::known_layouts(file)) matches.push_back(compare(layout, tensors));
    return *std::ranges::max_element(matches, {}, &Match::score);
}

std::string text_of(const Shape64& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// `; 3 missing: 'a', 'b', 'c'`, or an empty text.
std::string listed(const std::vector<std::string>& names, const std::string& what) {
    constexpr size_t kMost = 200;  // more than any of the networks has
    if (names.empty()) return "";
    const auto first = std::span(names).first(std::min(names.size(), kMost));
    return fmt::format("; {} {}: {}{}", names.size(), what, fmt::join(first, ", "),
                       names.size() > kMost ? " and others" : "");
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

std::string first_keys(const StateDict& tensors) {
    constexpr size_t kFew = 3;
    std::string text;
    for (const auto& [key, tensor] : tensors) {
        if (std::count(text.begin(), text.end(), ',') + 1 == kFew + 1) break;
        text += (text.empty() ? "" : ", ") + shown(key);
    }
    return text;
}

void check_values(const StateDict& tensors, const std::string& source) {
    for (const auto& [key, tensor] : tensors) {
        require(checked_elements(tensor.shape) == static_cast<int64_t>(tensor.values.size()),
                source + ", tensor " + shown(key) + ": its shape is not that of its values");
        for (size_t i = 0; i < tensor.values.size(); ++i)
            if (!std::isfinite(tensor.values[i]))
                throw UsageError(
                    fmt::format("{}, tensor {}, element {}: not a finite number; the training of these weights "
                                "went wrong, or the file did",
                                source, shown(key), i));
    }
}

void check_match(const Match& match, const StateDict& tensors, const std::string& source) {
    if (match.names * 4 < match.expected.size())
        throw UsageError(
            fmt::format("{}: weights of no network that is known here ({}); its tensors are {}, the first {}", source,
                        names_of<network::NetworkKind>(", "), tensors.size(), first_keys(tensors)));
    const std::string found = differences(match, tensors);
    if (!found.empty())
        throw UsageError(source + ": looks like " + match.layout.name + ", but does not fit" + found +
                         "; check that it is the right file of the right version");
}

/// Operation `index` of the layout.
Convolution convert(const network::KeyLayout& layout, size_t index, const StateDict& tensors,
                    const std::string& source) {
    const network::Filter& filter = *layout.graph[index].filter;
    const network::TensorShapes shapes = network::tensor_shapes(layout.graph, index);
    Convolution convolution{shapes.out_channels,
                            shapes.in_channels,
                            shapes.kernel,
                            filter.stride,
                            shapes.transposed,
                            tensors.at(filter.weights + ".weight").values,
                            {}};
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
    StateDict tensors = without_module_prefix(all);
    std::erase_if(tensors, [](const auto& item) { return item.first.ends_with(kIgnored); });
    const Match match = best_match(tensors);
    check_match(match, tensors, source);
    check_values(tensors, source);
    const network::KeyLayout& layout = match.layout;
    Weights weights{.shape = layout.shape, .source = source, .layout = layout.name, .trained = true};
    const network::Graph canonical = network::graph_of(layout.shape);
    for (const size_t index : network::convolutions_of(canonical))
        weights.convolutions[canonical[index].filter->weights] = convert(layout, index, tensors, source);
    weights.sha256 = sha256_of_values(weights);
    return weights;
}

}  // namespace pb::engine
