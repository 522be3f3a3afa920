#include "network/native_layout.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace pb::network {

namespace {

constexpr int64_t kFloat = sizeof(float);

int64_t winograd_scratch(const NativeConvolution& layer) {
    const int64_t tiles = winograd_tiles(layer.in_channels, layer.winograd);
    const int64_t operands = tiles * (layer.winograd.operand_floats(layer.in_channels) + kWinogradSkew);
    const int64_t products = tiles * kNativePanel;
    return winograd_products(layer.winograd.tile) * (operands + products + layer.in_channels);  // one patch
}

int64_t direct_scratch(const NativeConvolution& layer) {
    const int64_t columns = (kDirectPixels - 1) * layer.stride + layer.kernel;
    return layer.kernel * columns * layer.in_channels + kDirectPixels * kNativePanel;
}

/// FLOP of the layers for each pixel of the input, each by what `share_of` says of it.
template <class ShareOf>
double summed_flop(const Graph& graph, WinogradForm form, ShareOf share_of) {
    double flop = 0;
    for (const size_t index : convolutions_of(graph))
        flop += cost_of(graph, {index, index}).flop_per_pixel *
                std::invoke(share_of, native_convolution(graph, index, form));
    return flop;
}

/// Order in which blocks are placed.
using Order = std::vector<size_t>;

class Placement {
  public:
    Placement(const std::vector<MemoryBlock>& blocks, int64_t pixels) : blocks_(blocks) {
        for (const MemoryBlock& block : blocks) bytes_.push_back(round_up(block.size.bytes(pixels), kArenaAlignment));
    }

    [[nodiscard]] Order largest_first() const {
        return ordered([&](size_t a, size_t b) { return bytes_[a] > bytes_[b]; });
    }

    /// In the order of the forward call; among blocks that begin together, the one that ends last comes first.
    [[nodiscard]] Order earliest_first() const {
        return ordered([&](size_t a, size_t b) {
            return std::pair(blocks_[a].begin, blocks_[b].end) < std::pair(blocks_[b].begin, blocks_[a].end);
        });
    }

    [[nodiscard]] Arena place(const Order& order) const {
        Arena arena{std::vector<int64_t>(blocks_.size()), 0};
        std::vector<size_t> placed;
        for (const size_t block : order) {
            const int64_t offset = smallest_gap(arena, bytes_[block], beside(arena, placed, block));
            arena.offsets[block] = offset;
            arena.bytes = std::max(arena.bytes, offset + bytes_[block]);
            placed.push_back(block);
        }
        return arena;
    }

  private:
    template <class Before>
    [[nodiscard]] Order ordered(Before before) const {
        Order order(blocks_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), before);
        return order;
    }

    /// Those of `placed` that are live while `block` is, by ascending offset.
    [[nodiscard]] std::vector<size_t> beside(const Arena& arena, const std::vector<size_t>& placed,
                                             size_t block) const {
        std::vector<size_t> others;
        for (const size_t other : placed)
            if (blocks_[other].begin < blocks_[block].end && blocks_[block].begin < blocks_[other].end)
                others.push_back(other);
        std::ranges::sort(others, {}, [&](size_t other) { return arena.offsets[other]; });
        return others;
    }

    /// Offset of the smallest gap between `others` that holds `bytes`; their end when there is none.
    [[nodiscard]] int64_t smallest_gap(const Arena& arena, int64_t bytes, const std::vector<size_t>& others) const {
        int64_t offset = -1, smallest = std::numeric_limits<int64_t>::max(), end = 0;
        for (const size_t other : others) {
            const int64_t gap = arena.offsets[other] - end;
            if (gap >= bytes && gap < smallest) {
                offset = end;
                smallest = gap;
            }
            end = std::max(end, arena.offsets[other] + bytes_[other]);
        }
        return offset < 0 ? end : offset;
    }

    const std::vector<MemoryBlock>& blocks_;
    std::vector<int64_t> bytes_;  // by block
};

}  // namespace

NativeMethod NativeConvolution::method() const {
    if (transposed || stride > 1) return NativeMethod::direct;
    if (out_channels <= kNarrowChannels && in_channels % kNativeLanes == 0) return NativeMethod::narrow;
    const bool pairs = !winograd.bf16 || in_channels % 2 == 0;  // of channels, which bf16 multiplies together
    const bool pays = kernel == 3 && pairs && std::min(in_channels, out_channels) >= kWinogradChannels;
    return pays ? NativeMethod::winograd : NativeMethod::direct;
}

double NativeConvolution::executed_share() const {
    if (method() != NativeMethod::winograd) return 1;
    return static_cast<double>(winograd_products(winograd.tile)) /
           static_cast<double>(winograd.tile * winograd.tile * kernel * kernel);
}

int64_t NativeConvolution::packed_weights() const {
    switch (method()) {
        case NativeMethod::winograd:
            return winograd_products(winograd.tile) * winograd.operand_floats(in_channels) * panels() * kNativePanel;
        case NativeMethod::narrow: return kernel * kernel * in_channels * out_channels;
        case NativeMethod::direct: break;
    }
    return kernel * depth() * panels() * kNativePanel;
}

int64_t NativeConvolution::packed_bias() const { return panels() * kNativePanel; }

int64_t NativeConvolution::scratch() const {
    switch (method()) {
        case NativeMethod::winograd: return winograd_scratch(*this);
        case NativeMethod::narrow: return 0;
        case NativeMethod::direct: break;
    }
    return direct_scratch(*this);
}

NativeConvolution native_convolution(const Graph& graph, size_t index, WinogradForm form) {
    return {tensor_shapes(graph, index), form};
}

bool uses_winograd(const Graph& graph, size_t index) {
    return is_convolution(graph[index].kind) && native_convolution(graph, index).method() == NativeMethod::winograd;
}

bool is_read_in_parts(const Graph& graph, size_t index) {
    const auto fills_vectors = [&](size_t operand) {
        const int64_t channels = graph.shape(operand).channels;
        return channels >= kWinogradChannels && channels % 2 == 0;
    };
    if (index == graph.output() || !std::ranges::all_of(graph[index].operands, fills_vectors)) return false;
    for (size_t i = index + 1; i < graph.size(); ++i)
        if (std::ranges::count(graph[i].operands, index) > 0 && !uses_winograd(graph, i)) return false;
    return true;
}

double native_flop_per_pixel(const Graph& graph, WinogradForm form) {
    return summed_flop(graph, form, &NativeConvolution::executed_share);
}

double winograd_share(const Graph& graph) {
    const auto is_winograd = [](const NativeConvolution& layer) {
        return layer.method() == NativeMethod::winograd ? 1.0 : 0.0;
    };
    return summed_flop(graph, {}, is_winograd) / (2 * mac_per_pixel(graph));
}

int64_t winograd_tiles(int64_t in_channels, WinogradForm form) {
    constexpr int64_t kManyChannels = 512;
    const int64_t tiles = in_channels < kManyChannels ? 28 : 70;
    return form.bf16 ? tiles : tiles * (kWinogradTile / form.tile);
}

int64_t native_weight_bytes(const Graph& graph, WinogradForm form, int64_t sharers) {
    int64_t floats = 0;
    for (const size_t index : convolutions_of(graph)) {
        const NativeConvolution layer = native_convolution(graph, index, form);
        floats += round_up(layer.packed_weights(), kNativeLanes) + layer.packed_bias();
    }
    return ceil_div(floats * kFloat, sharers);
}

int64_t native_scratch_bytes(const Graph& graph, WinogradForm form) {
    int64_t floats = 0;
    for (const size_t index : convolutions_of(graph))
        floats = std::max(floats, native_convolution(graph, index, form).scratch());
    return round_up(floats, kNativeLanes) * kFloat;
}

Arena place_blocks(const MemoryPlan& plan, int64_t pixels) {
    const Placement placement(plan.blocks, pixels);
    Arena by_size = placement.place(placement.largest_first());
    Arena by_time = placement.place(placement.earliest_first());
    return by_time.bytes < by_size.bytes ? by_time : by_size;
}

}  // namespace pb::network
