#include "engine/weights/layouts.hpp"

#include "network/graph_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace pb::engine {
namespace {

// The largest n among keys `<prefix>n.weight`, at most `most`; -1 when there is none.
int64_t last_index(const StateDict& tensors, std::string_view prefix, int64_t most) {
    int64_t last = -1;
    for (const auto& [key, tensor] : tensors) {
        if (!key.starts_with(prefix)) continue;
        int64_t index = 0;
        const char* begin = key.data() + prefix.size();
        const auto [end, error] = std::from_chars(begin, key.data() + key.size(), index);
        if (error == std::errc{} && std::string_view(end) == ".weight" && tensor.shape.size() == 4)
            last = std::max(last, index);
    }
    return std::min(last, most);
}

/// Keys as in deepinv.
KeyLayout canonical_layout(std::string name, const network::NetworkShape& shape) {
    KeyLayout layout{.name = std::move(name), .shape = shape, .graph = network::graph_of(shape)};
    for (const size_t index : network::convolutions_of(layout.graph)) {
        const network::Filter& filter = *layout.graph[index].filter;
        layout.layers.push_back({index, filter.weights, filter.has_bias, filter.norm});
    }
    return layout;
}

KeyLayout kair_layout(const std::string& variant, network::DncnnShape shape) {
    shape.residual = network::DncnnResidual::subtract;
    return canonical_layout("dncnn (" + variant + ")", shape);
}

// KAIR: a Sequential of convolution, ReLU, convolution, ReLU, ...
KeyLayout kair_merged(const network::DncnnShape& shape) {
    KeyLayout layout = kair_layout("KAIR, batch norm merged", shape);
    for (size_t i = 0; i < layout.layers.size(); ++i) layout.layers[i].convolution = fmt::format("model.{}", 2 * i);
    return layout;
}

// A Sequential of convolution, ReLU, then convolution, batch norm, ReLU each, then the last convolution.
void number_with_norms(KeyLayout& layout, const std::string& prefix) {
    for (size_t i = 0; i < layout.layers.size(); ++i) {
        const size_t index = i == 0 ? 0 : 3 * i - 1;
        layout.layers[i].convolution = fmt::format("{}{}", prefix, index);
        if (i > 0 && i + 1 < layout.layers.size()) layout.layers[i].norm = fmt::format("{}{}", prefix, index + 1);
    }
}

KeyLayout kair_unmerged(const network::DncnnShape& shape) {
    KeyLayout layout = kair_layout("KAIR, batch norm folded", shape);
    layout.eps = 1e-4;
    number_with_norms(layout, "model.");
    return layout;
}

// SaoYan/DnCNN-PyTorch and its successors; the common prefix `module.` of their keys has been removed.
KeyLayout sequential_without_bias(const network::DncnnShape& shape) {
    KeyLayout layout = kair_layout("Sequential without bias, batch norm folded", shape);
    number_with_norms(layout, "dncnn.");
    for (LayerKeys& layer : layout.layers) layer.has_bias = false;
    return layout;
}

constexpr int64_t kMostIndices = 1000;  // indices in names may be false; no DnCNN is this deep
constexpr int64_t kMostChannels = 4096;
constexpr int64_t kMostScales = 8;

/// Output channels of the convolution `key`; `otherwise` when it is absent or not a convolution.
int64_t channels_made(const StateDict& tensors, const std::string& key, int64_t otherwise) {
    const auto found = tensors.find(key + ".weight");
    if (found == tensors.end() || found->second.shape.size() != 4) return otherwise;
    return std::clamp<int64_t>(found->second.shape.front(), 1, kMostChannels);
}

bool has(const StateDict& tensors, const std::string& key) { return tensors.contains(key + ".weight"); }

// When the keys do not show the shape, the standard one is assumed, and errors name the differences to it.

network::DrunetShape drunet_shape(const StateDict& tensors, int64_t channels) {
    network::DrunetShape shape{.channels = channels};
    if (!has(tensors, "m_body.0.res.0")) return shape;
    for (shape.blocks = 1; shape.blocks < kMostIndices && has(tensors, fmt::format("m_body.{}.res.0", shape.blocks));)
        ++shape.blocks;
    shape.widths = {channels_made(tensors, "m_head", shape.widths.front())};
    for (int64_t scale = 1; scale < kMostScales; ++scale) {
        const std::string halving = fmt::format("m_down{}.{}", scale, shape.blocks);
        if (!has(tensors, halving)) break;
        shape.widths.push_back(channels_made(tensors, halving, 1));
    }
    return shape;
}

network::UnetShape unet_shape(const StateDict& tensors, int64_t channels) {
    network::UnetShape shape{.channels = channels};
    if (!has(tensors, "Conv1.0")) return shape;
    shape.widths.clear();
    for (int64_t scale = 1; scale <= kMostScales && has(tensors, fmt::format("Conv{}.0", scale)); ++scale)
        shape.widths.push_back(channels_made(tensors, fmt::format("Conv{}.0", scale), 1));
    return shape;
}

/// Keys are `prefix` and a number: convolution i has the number `per_layer` * i - `first`; the first one has
/// `first_key`.
network::DncnnShape dncnn_shape(const StateDict& tensors, int64_t channels, const std::string& first_key,
                                std::string_view prefix, int64_t per_layer, int64_t first) {
    const network::DncnnShape standard;
    return {.channels = channels,
            .depth = std::max<int64_t>(2, (last_index(tensors, prefix, kMostIndices) + first) / per_layer + 1),
            .width = channels_made(tensors, first_key, standard.width)};
}

/// `standard`, and also the shape that the keys of `tensors` show when it differs.
template <class Shape>
void add_canonical(std::vector<KeyLayout>& layouts, const std::string& name, const Shape& standard,
                   const Shape& derived) {
    layouts.push_back(canonical_layout(name, standard));
    if (derived != standard) layouts.push_back(canonical_layout(name, derived));
}

}  // namespace

std::vector<KeyLayout> known_layouts(const StateDict& tensors) {
    std::vector<KeyLayout> layouts;
    for (const int64_t channels : {3, 1}) {
        add_canonical(layouts, "drunet", network::DrunetShape{.channels = channels}, drunet_shape(tensors, channels));
        add_canonical(layouts, "unet (batch norm folded)", network::UnetShape{.channels = channels},
                      unet_shape(tensors, channels));
        layouts.push_back(
            canonical_layout("dncnn (deepinv)", dncnn_shape(tensors, channels, "in_conv", "conv_list.", 1, 2)));
        layouts.push_back(kair_merged(dncnn_shape(tensors, channels, "model.0", "model.", 2, 0)));
        layouts.push_back(kair_unmerged(dncnn_shape(tensors, channels, "model.0", "model.", 3, 1)));
        layouts.push_back(sequential_without_bias(dncnn_shape(tensors, channels, "dncnn.0", "dncnn.", 3, 1)));
    }
    return layouts;
}

}  // namespace pb::engine
