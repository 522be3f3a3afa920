#include "engine/native/packed_weights.hpp"

#include "base/half.hpp"
#include "engine/native/kernels.hpp"
#include "network/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace pb::engine::native {

namespace {

using Layers = std::vector<std::optional<PackedLayer>>;

/// The layers of a block that begins at `place`. They depend on the graph and the form alone, so they are the same in
/// all processes.
Layers layers_in(const float* place, const network::Graph& graph, network::WinogradForm form) {
    Layers layers(graph.size());
    const auto take = [&place](int64_t floats) {
        return std::exchange(place, place + round_up(floats, network::kNativeLanes));
    };
    for (const size_t operation : network::convolutions_of(graph)) {
        const network::NativeConvolution convolution = network::native_convolution(graph, operation, form);
        const float* const weights = take(convolution.packed_weights());
        layers[operation] = {convolution, weights, take(convolution.packed_bias())};
    }
    return layers;
}

std::span<float> part_of(std::span<float> block, const float* part, int64_t floats) {
    return block.subspan(static_cast<size_t>(part - block.data()), static_cast<size_t>(floats));
}

/// `block`: zeros.
void pack(const Weights& weights, const network::Graph& graph, network::WinogradForm form, std::span<float> block) {
    const Layers layers = layers_in(block.data(), graph, form);
    for (const size_t operation : network::convolutions_of(graph)) {
        const auto& [convolution, packed, bias] = *layers[operation];
        const Convolution& from = weights.convolution(graph[operation].filter->weights);
        pack_weights(convolution, from, part_of(block, packed, convolution.packed_weights()));
        pack_bias(convolution, from, part_of(block, bias, convolution.packed_bias()));
    }
}

/// Says all that the packed values depend on. Norms and gains are in the digest.
std::string name_of_block(const std::string& digest, const network::Graph& graph, network::WinogradForm form) {
    return fmt::format("native weights {}, tiles of {}{}\n{}", digest, form.tile, form.bf16 ? ", bf16" : "",
                       network::line_of(graph));
}

constexpr int64_t kKernel = 3;

/// G of Winograd's method, for tiles of kPatch - 2 pixels.
template <size_t kPatch>
using Transform = std::array<std::array<double, kKernel>, kPatch>;

/// For the points 0, +-1/sqrt(2), +-sqrt(2) and infinity (winograd_transform.inl).
constexpr double kRoot = 1.41421356237309504880;
constexpr Transform<6> kTransform{{{1, 0, 0},
                                   {-2 / 3., -kRoot / 3, -1 / 3.},
                                   {-2 / 3., kRoot / 3, -1 / 3.},
                                   {1 / 6., kRoot / 6, 1 / 3.},
                                   {1 / 6., -kRoot / 6, 1 / 3.},
                                   {0, 0, 1}}};
/// For the points 0, +-1 and infinity.
constexpr Transform<4> kSmallTransform{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};

/// G k, where k are three values `step` apart.
template <size_t kPatch, class Value>
std::array<double, kPatch> transform_axis(const Transform<kPatch>& g, const Value* k, int64_t step) {
    std::array<double, kPatch> result{};
    for (size_t i = 0; i < kPatch; ++i) result[i] = g[i][0] * k[0] + g[i][1] * k[step] + g[i][2] * k[2 * step];
    return result;
}

/// G k G^T of a 3x3 kernel.
template <size_t kPatch>
std::array<double, kPatch * kPatch> transform_kernel(const Transform<kPatch>& g, const float* kernel) {
    std::array<std::array<double, kPatch>, kKernel> columns{};
    for (int64_t x = 0; x < kKernel; ++x) columns[static_cast<size_t>(x)] = transform_axis(g, kernel + x, kKernel);
    std::array<double, kPatch * kPatch> result{};
    for (size_t i = 0; i < kPatch; ++i) {
        const std::array<double, kKernel> row{columns[0][i], columns[1][i], columns[2][i]};
        const auto transformed = transform_axis(g, row.data(), 1);
        for (size_t j = 0; j < kPatch; ++j) result[i * kPatch + j] = transformed[j];
    }
    return result;
}

/// Place of a row of `depth` rows and of a column in packed panels.
size_t place_in_panel(int64_t row, int64_t depth, int64_t column) {
    return static_cast<size_t>((column / network::kNativePanel * depth + row) * network::kNativePanel +
                               column % network::kNativePanel);
}

/// Replaces one of the two values of bf16 that lie in `pair`.
void put_bf16(float value, int64_t half, float& pair) {
    auto halves = std::bit_cast<std::array<uint16_t, 2>>(pair);
    halves[static_cast<size_t>(half)] = bf16_bits(value);
    pair = std::bit_cast<float>(halves);
}

template <size_t kPatch>
void pack_winograd(const network::NativeConvolution& layer, const Transform<kPatch>& g, const float* weight,
                   std::span<float> packed) {
    constexpr auto kProducts = static_cast<int64_t>(kPatch * kPatch);
    const bool bf16 = layer.winograd.bf16;
    const int64_t depth = layer.winograd.operand_floats(layer.in_channels);
    for (int64_t o = 0; o < layer.out_channels; ++o)
        for (int64_t i = 0; i < layer.in_channels; ++i, weight += kKernel * kKernel) {
            const auto values = transform_kernel(g, weight);
            for (int64_t p = 0; p < kProducts; ++p) {
                const auto value = static_cast<float>(values[static_cast<size_t>(p)]);
                float& place = packed[place_in_panel(p * depth + (bf16 ? i / 2 : i), kProducts * depth, o)];
                if (bf16)
                    put_bf16(value, i % 2, place);
                else
                    place = value;
            }
        }
}

void pack_narrow(const network::NativeConvolution& layer, const float* weight, std::span<float> packed) {
    const int64_t taps = layer.kernel * layer.kernel;
    for (int64_t o = 0; o < layer.out_channels; ++o)
        for (int64_t i = 0; i < layer.in_channels; ++i)
            for (int64_t tap = 0; tap < taps; ++tap)
                packed[static_cast<size_t>((tap * layer.out_channels + o) * layer.in_channels + i)] = *weight++;
}

void pack_direct(const network::NativeConvolution& layer, const float* weight, std::span<float> packed) {
    const int64_t k = layer.kernel;
    for (int64_t o = 0; o < layer.out_channels; ++o)
        for (int64_t i = 0; i < layer.in_channels; ++i)
            for (int64_t tap = 0; tap < k * k; ++tap)
                packed[place_in_panel((tap / k * k + tap % k) * layer.in_channels + i, k * layer.depth(), o)] =
                    *weight++;
}

void pack_transposed(const network::NativeConvolution& layer, const float* weight, std::span<float> packed) {
    const int64_t k = layer.kernel, part_floats = layer.packed_weights() / k;
    for (int64_t i = 0; i < layer.in_channels; ++i)
        for (int64_t o = 0; o < layer.out_channels; ++o)
            for (int64_t tap = 0; tap < k * k; ++tap) {
                const auto part = static_cast<size_t>(tap / k * part_floats);
                packed[part + place_in_panel(i, layer.in_channels, tap % k * layer.out_channels + o)] = *weight++;
            }
}

}  // namespace

PackedWeights::PackedWeights(const Weights& weights, const network::Graph& graph, network::WinogradForm form,
                             const SharedWeights& shared) {
    const auto bytes = static_cast<size_t>(network::native_weight_bytes(graph, form));
    const auto pack_into = [&](std::span<std::byte> block) {
        pack(weights, graph, form, {reinterpret_cast<float*>(block.data()), block.size() / sizeof(float)});
    };
    if (shared.blocks != nullptr) {
        counted_.emplace(network::native_weight_bytes(graph, form, shared.num_processes));
        shared_ = shared.blocks->find(name_of_block(shared.digest, graph, form), bytes, pack_into);
        layers_ = layers_in(reinterpret_cast<const float*>(shared_.get()), graph, form);
        return;
    }
    own_ = EngineBuffer({}, bytes);
    auto* const block = static_cast<std::byte*>(own_.pointer());
    std::fill_n(block, bytes, std::byte{0});
    pack_into({block, bytes});
    layers_ = layers_in(static_cast<const float*>(own_.pointer()), graph, form);
}

void pack_weights(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed) {
    const float* weight = from.weight.data();
    if (layer.transposed) return pack_transposed(layer, weight, packed);
    switch (layer.method()) {
        case network::NativeMethod::winograd:
            if (layer.winograd.tile == network::kSmallWinogradTile)
                return pack_winograd(layer, kSmallTransform, weight, packed);
            return pack_winograd(layer, kTransform, weight, packed);
        case network::NativeMethod::narrow: return pack_narrow(layer, weight, packed);
        case network::NativeMethod::direct: return pack_direct(layer, weight, packed);
    }
}

void pack_bias(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed) {
    if (from.bias.empty()) return;
    for (int64_t column = 0; column < layer.columns(); ++column)
        packed[static_cast<size_t>(column)] = from.bias[static_cast<size_t>(column % layer.out_channels)];
}

}  // namespace pb::engine::native
