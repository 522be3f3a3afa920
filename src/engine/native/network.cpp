#include "engine/native/network.hpp"

#include "engine/native/pack.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::native {

namespace {

/// Maps from this size on do not stay in a cache until they are read, so they are written past it.
constexpr int64_t kStreamedBytes = int64_t{8} << 20;

bool is_streamed(const ConvolutionCall& call) {
    const int64_t bytes = call.n * call.out_h() * call.out_w() * call.layer.out_channels * int64_t{sizeof(float)};
    const bool whole_lines = call.layer.out_channels % network::kNativeLanes == 0 &&
                             reinterpret_cast<uintptr_t>(call.out) % network::kArenaAlignment == 0;
    return call.summand == nullptr && whole_lines && bytes > kStreamedBytes;
}

/// Blocks of as many tiles as fit into a cache; where that makes fewer than there are threads, the output channels are
/// shared, too, at least two panels each.
WinogradBlocks winograd_blocks(const ConvolutionCall& call, int64_t threads) {
    const int64_t tiles = call.n * ceil_div(call.h, network::kWinogradTile) * ceil_div(call.w, network::kWinogradTile);
    WinogradBlocks blocks{.num_blocks = ceil_div(tiles, network::winograd_tiles(call.layer.in_channels))};
    const int64_t most_groups = std::max<int64_t>(1, call.layer.out_channels / network::kNativePanel / 2);
    blocks.num_groups = std::min(most_groups, ceil_div(threads, blocks.num_blocks));
    return blocks;
}

}  // namespace

Network::Network(const Weights& weights, int threads)
    : graph_(network::graph_of(weights.shape)),
      plan_(network::plan_memory(graph_, network::kNativePath)),
      kernels_(find_kernels()),
      threads_(threads),
      weights_({}, static_cast<size_t>(network::native_weight_bytes(graph_))),
      scratch_bytes_(network::native_scratch_bytes(graph_)) {
    auto* place = static_cast<float*>(weights_.pointer());
    std::fill_n(place, network::native_weight_bytes(graph_) / int64_t{sizeof(float)}, 0.F);
    for (const network::Step& step : plan_.steps) {
        Call call{.step = step, .reads = network::maps_read(graph_, step)};
        if (graph_[step.first].filter) call.layer = pack(weights, step.first, place);
        calls_.push_back(std::move(call));
    }
}

/// Packs one convolution at `place` and moves that behind it.
Network::Layer Network::pack(const Weights& weights, size_t operation, float*& place) const {
    Layer layer{.convolution = network::native_convolution(graph_, operation)};
    const Convolution& from = weights.convolution(graph_[operation].filter->weights);
    const auto take = [&place](int64_t floats) {
        return std::span<float>(std::exchange(place, place + round_up(floats, network::kNativeLanes)),
                                static_cast<size_t>(floats));
    };
    const auto packed = take(layer.convolution.packed_weights()), bias = take(layer.convolution.packed_bias());
    pack_weights(layer.convolution, from, packed);
    pack_bias(layer.convolution, from, bias);
    layer.weights = packed.data();
    layer.bias = bias.data();
    return layer;
}

void Network::run(const BatchView& in, const BatchView& out, StepClock* clock) {
    if (pixels_ != in.shape.pixels()) arena_ = network::place_blocks(plan_, in.shape.pixels());
    pixels_ = in.shape.pixels();
    const EngineBuffer memory({}, static_cast<size_t>(arena_.bytes + threads_.size() * scratch_bytes_));
    Maps maps{.in = in, .out = out, .memory = static_cast<std::byte*>(memory.pointer()), .scratch = {}};
    for (int thread = 0; thread < threads_.size(); ++thread)
        maps.scratch.push_back(reinterpret_cast<float*>(maps.memory + arena_.bytes + thread * scratch_bytes_));
    if (clock != nullptr) clock->start();
    for (const Call& call : calls_) {
        run(call, maps);
        if (clock != nullptr) clock->add(call.step);
    }
}

Network::Map Network::map(const Maps& maps, size_t operation) const {
    const network::MapShape& shape = graph_.shape(operation);
    const Shape& input = maps.in.shape;
    Map map{.n = input.n, .h = input.h / shape.scale, .w = input.w / shape.scale, .channels = shape.channels};
    if (operation == 0)
        map.values = static_cast<float*>(maps.in.pointer);
    else if (const auto block = plan_.block_of[operation])
        map.values = reinterpret_cast<float*>(maps.memory + arena_.offsets[*block]);
    else
        map.values = static_cast<float*>(maps.out.pointer);
    return map;
}

void Network::run(const Call& call, const Maps& maps) {
    switch (graph_[call.step.first].kind) {
        case network::OperationKind::input:
            break;
        case network::OperationKind::convolution:
        case network::OperationKind::transposed_convolution:
            return convolve(call, maps);
        case network::OperationKind::relu:
        case network::OperationKind::add:
        case network::OperationKind::subtract:
            return combine(call, maps);
        case network::OperationKind::concatenate:
            return concatenate(call, maps);
        case network::OperationKind::max_pool:
            return max_pool(call, maps);
        case network::OperationKind::upsample:
            return upsample(call, maps);
    }
    throw Error("engine: an operation that the engine native does not know");
}

void Network::convolve(const Call& call, const Maps& maps) {
    const Map in = map(maps, call.reads.front()), out = map(maps, call.step.last);
    const bool adds = network::map_summed(graph_, call.step).has_value();
    ConvolutionCall work{.layer = call.layer->convolution,
                         .in = in.values,
                         .out = out.values,
                         .summand = adds ? map(maps, call.reads.back()).values : nullptr,
                         .n = in.n,
                         .h = in.h,
                         .w = in.w,
                         .weights = call.layer->weights,
                         .bias = call.layer->bias,
                         .relu = call.step.is_fused() && !adds};
    work.streams = is_streamed(work);
    const auto scratch = [&maps](int thread) { return maps.scratch[static_cast<size_t>(thread)]; };
    const WinogradBlocks blocks = winograd_blocks(work, threads_.size());
    switch (work.layer.method()) {
        case network::NativeMethod::winograd:
            return threads_.run(blocks.num_items(), [&](Range items, int thread) {
                kernels_.winograd(work, blocks, items, scratch(thread));
            });
        case network::NativeMethod::narrow:
            return threads_.run(out.rows(), [&](Range rows, int) { kernels_.narrow(work, rows); });
        case network::NativeMethod::direct:
            return threads_.run(out.rows(),
                                [&](Range rows, int thread) { kernels_.direct(work, rows, scratch(thread)); });
    }
}

void Network::combine(const Call& call, const Maps& maps) {
    const Map out = map(maps, call.step.last);
    const PixelwiseCall work{.kind = graph_[call.step.first].kind,
                             .a = map(maps, call.reads.front()).values,
                             .b = map(maps, call.reads.back()).values,
                             .out = out.values};
    threads_.run(out.size(), [&](Range values, int) { kernels_.pixelwise(work, values); });
}

void Network::concatenate(const Call& call, const Maps& maps) {
    const Map out = map(maps, call.step.last);
    threads_.run(out.rows() * out.w, [&](Range pixels, int) {
        int64_t channel = 0;
        for (const size_t operand : call.reads) {
            const Map in = map(maps, operand);
            for (int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel)
                std::copy_n(in.values + pixel * in.channels, in.channels, out.values + pixel * out.channels + channel);
            channel += in.channels;
        }
    });
}

void Network::max_pool(const Call& call, const Maps& maps) {
    const Map in = map(maps, call.reads.front()), out = map(maps, call.step.last);
    const MaxPoolCall work{.in = in.values, .out = out.values, .w = in.w, .channels = in.channels};
    threads_.run(out.rows(), [&](Range rows, int) { kernels_.max_pool(work, rows); });
}

void Network::upsample(const Call& call, const Maps& maps) {
    const Map in = map(maps, call.reads.front()), out = map(maps, call.step.last);
    const int64_t channels = out.channels;
    threads_.run(out.rows(), [&](Range rows, int) {
        for (int64_t row = rows.begin; row < rows.end; ++row)
            for (int64_t x = 0; x < out.w; ++x)
                std::copy_n(in.values + (row / 2 * in.w + x / 2) * channels, channels,
                            out.values + (row * out.w + x) * channels);
    });
}

}  // namespace pb::engine::native
