#include "engine/weights/layouts.hpp"

#include "patchbench/network/facts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace pb {
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
KeyLayout canonical_layout(std::string name, const NetworkShape& shape) {
    KeyLayout layout{.name = std::move(name), .shape = shape, .graph = graph_of(shape)};
    for (const size_t index : convolutions_of(layout.graph)) {
        const Filter& filter = *layout.graph[index].filter;
        layout.layers.push_back({index, filter.weights, filter.has_bias, filter.norm});
    }
    return layout;
}

KeyLayout kair_layout(const std::string& variant, int64_t channels, int64_t depth) {
    return canonical_layout("dncnn (" + variant + ")",
                            DncnnShape{.channels = channels, .depth = depth, .residual = DncnnResidual::subtract});
}

// KAIR: a Sequential of convolution, ReLU, convolution, ReLU, ...
KeyLayout kair_merged(int64_t channels, int64_t depth) {
    KeyLayout layout = kair_layout("KAIR, batch norm merged", channels, depth);
    for (size_t i = 0; i < layout.layers.size(); ++i) layout.layers[i].convolution = "model." + std::to_string(2 * i);
    return layout;
}

// A Sequential of convolution, ReLU, then convolution, batch norm, ReLU each, then the last convolution.
void number_with_norms(KeyLayout& layout, const std::string& prefix) {
    for (size_t i = 0; i < layout.layers.size(); ++i) {
        const size_t index = i == 0 ? 0 : 3 * i - 1;
        layout.layers[i].convolution = prefix + std::to_string(index);
        if (i > 0 && i + 1 < layout.layers.size()) layout.layers[i].norm = prefix + std::to_string(index + 1);
    }
}

KeyLayout kair_unmerged(int64_t channels, int64_t depth) {
    KeyLayout layout = kair_layout("KAIR, batch norm folded", channels, depth);
    layout.eps = 1e-4;
    number_with_norms(layout, "model.");
    return layout;
}

// SaoYan/DnCNN-PyTorch and what grew out of it; its `module.` is common to all keys and was removed.
KeyLayout sequential_without_bias(int64_t channels, int64_t depth) {
    KeyLayout layout = kair_layout("Sequential without bias, batch norm folded", channels, depth);
    number_with_norms(layout, "dncnn.");
    for (LayerKeys& layer : layout.layers) layer.has_bias = false;
    return layout;
}

}  // namespace

std::vector<KeyLayout> known_layouts(const StateDict& tensors) {
    constexpr int64_t kMostIndices = 1000;  // names may lie about indices; no DnCNN is as deep
    const auto depth_of = [&](std::string_view prefix, int64_t per_layer, int64_t first) {
        return std::max<int64_t>(3, (last_index(tensors, prefix, kMostIndices) + first) / per_layer + 1);
    };
    std::vector<KeyLayout> layouts;
    for (const int64_t channels : {3, 1}) {
        layouts.push_back(canonical_layout("drunet", DrunetShape{.channels = channels}));
        layouts.push_back(canonical_layout("unet (batch norm folded)", UnetShape{.channels = channels}));
        const int64_t depth = depth_of("conv_list.", 1, 2);
        layouts.push_back(canonical_layout("dncnn (deepinv)", DncnnShape{.channels = channels, .depth = depth}));
        layouts.push_back(kair_merged(channels, depth_of("model.", 2, 0)));
        layouts.push_back(kair_unmerged(channels, depth_of("model.", 3, 1)));
        layouts.push_back(sequential_without_bias(channels, depth_of("dncnn.", 3, 1)));
    }
    return layouts;
}

}  // namespace pb
