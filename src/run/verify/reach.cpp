#include "run/verify/reach.hpp"

#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::run {

namespace {

constexpr char kConvolution = 'c';  // a 3x3 convolution
constexpr char kHalve = 'd';        // 2x2 with stride 2: pooling or a strided convolution
constexpr char kDouble = 'u';       // the inverse of kHalve: doubles height and width

size_t count_names(const engine::Weights& weights, std::string_view begin, std::string_view end) {
    return static_cast<size_t>(std::ranges::count_if(weights.convolutions, [&](const auto& item) {
        return item.first.starts_with(begin) && item.first.ends_with(end);
    }));
}

std::string repeated(const std::string& layers, size_t times) {
    std::string all;
    for (size_t i = 0; i < times; ++i) all += layers;
    return all;
}

/// The layers on the longest path from the network's input to its output. Additions, concatenations and 1x1
/// convolutions are left out because they do not extend the reach.
std::string longest_way(const engine::Weights& weights) {
    switch (weights.kind()) {
        case NetworkKind::drunet: {
            const std::string blocks(count_names(weights, "m_body.", ""), kConvolution);  // two convolutions per block
            const auto scales = static_cast<size_t>(
                std::ranges::count_if(weights.convolutions, [](const auto& item) { return item.second.transposed; }));
            return kConvolution + repeated(blocks + kHalve, scales) + blocks + repeated(kDouble + blocks, scales) +
                   kConvolution;
        }
        case NetworkKind::unet: {
            const size_t scales = count_names(weights, "Up", ".1");
            return repeated("ccd", scales) + "cc" + repeated("uccc", scales);
        }
        case NetworkKind::dncnn:
            return std::string(weights.convolutions.size(), kConvolution);
    }
    return {};
}

const engine::Convolution& first_convolution(const engine::Weights& weights) {
    const char* const name = weights.kind() == NetworkKind::drunet ? "m_head"
                             : weights.kind() == NetworkKind::unet ? "Conv1.0"
                                                                   : "in_conv";
    return weights.convolutions.at(name);
}

}  // namespace

Reach reach_of(const engine::Weights& weights) {
    const std::string way = longest_way(weights);
    const int64_t alignment = int64_t{1} << std::count(way.begin(), way.end(), kHalve);
    int64_t low = 0, high = alignment;  // input range that an aligned core needs, layer by layer backwards
    for (auto layer = way.rbegin(); layer != way.rend(); ++layer) {
        if (*layer == kConvolution) {
            --low;
            ++high;
        } else if (*layer == kHalve) {
            low *= 2;
            high *= 2;
        } else {
            low = -ceil_div(-low, 2);
            high = ceil_div(high, 2);
        }
    }
    return {alignment, round_up(std::max(-low, high - alignment), alignment),
            first_convolution(weights).in_channels == weights.channels() + 1};
}

std::optional<std::string> find_wrong_fact(const engine::Weights& weights) {
    const network::NetworkFacts& facts = network::network_facts(weights.shape);
    const Reach reach = reach_of(weights);
    const std::string name(name_of(weights.kind()));
    const auto says = [&](const std::string& what, int64_t table, int64_t layers) {
        return fmt::format("{}: its graph says {} {}, its layers {}: a fault of patchbench, please report it", name,
                           what, table, layers);
    };
    if (facts.alignment != reach.alignment) return says("alignment", facts.alignment, reach.alignment);
    if (facts.takes_sigma != reach.takes_sigma)
        return says("sigma channels", facts.takes_sigma ? 1 : 0, reach.takes_sigma ? 1 : 0);
    return std::nullopt;
}

std::optional<std::string> find_short_halo(const plan::Point& point, const engine::Weights& weights) {
    const int64_t halo = reach_of(weights).halo;
    const config::PointSettings& settings = point.settings;
    const bool is_exact =
        settings.workload == config::Workload::tiles && settings.halo.kind == config::HaloSetting::Kind::exact;
    if (!is_exact || point.halo.value() >= halo) return std::nullopt;
    return fmt::format("halo: exact is {} px for {}, but the layers of these weights see {} px: set halo: {}",
                       point.halo.value(), name_of(settings.network), halo, halo);
}

}  // namespace pb::run
