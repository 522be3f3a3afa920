#include "engine/native/network.hpp"

#include "base/mapped.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace pb::engine::native {

namespace {

/// The time of a work item; the unit is the product of one tile with one panel of weights. Each group of output
/// channels transforms the operands again.
double item_time(int64_t tiles, int64_t panels) {
    constexpr double kTransformTime = 0.22;  // of a tile; in DnCNN 9 % of the time, its products with two panels 83 %
    // With 8 tiles one thread reads weights as fast as it multiplies them; many threads share the memory.
    constexpr int64_t kFewTiles = 16;
    return static_cast<double>(panels * std::max(tiles, kFewTiles)) + kTransformTime * static_cast<double>(tiles);
}

/// Maps from this size on do not stay in a cache until they are read, so they are written past it.
constexpr int64_t kStreamedBytes = int64_t{8} << 20;

bool is_streamed(const ConvolutionCall& call) {
    const int64_t bytes = call.n * call.rows.size() * call.out.row_floats * int64_t{sizeof(float)};
    const bool whole_lines = call.layer.out_channels % network::kNativeLanes == 0 &&
                             reinterpret_cast<uintptr_t>(call.out.values) % network::kArenaAlignment == 0;
    return call.summand.values == nullptr && whole_lines && bytes > kStreamedBytes;
}

int64_t num_tiles(const ConvolutionCall& call) {
    const int64_t tile = call.layer.winograd.tile;
    return call.n * ceil_div(call.rows.size(), tile) * ceil_div(call.columns.size(), tile);
}

network::WinogradForm form_of(const EngineOptions& options) {
    return network::winograd_form(options.winograd_tile, options.precision);
}

/// Calls `row_of(window, row)` for the rows that are made of `map`, in all threads.
template <class RowOf>
void for_rows(ThreadPool& threads, const Map& map, RowOf row_of) {
    threads.run(map.num_made(), [&](Range numbers, int) {
        for (int64_t number = numbers.begin; number < numbers.end; ++number)
            row_of(number / map.made.size(), map.made.begin + number % map.made.size());
    });
}

}  // namespace

WinogradBlocks winograd_blocks(const network::NativeConvolution& layer, int64_t tiles, int64_t threads, int64_t rows) {
    const int64_t most = network::winograd_tiles(layer.in_channels, layer.winograd) / rows * rows;
    const int64_t fewest_blocks = ceil_div(tiles, most);
    WinogradBlocks best;
    double least = std::numeric_limits<double>::max();
    for (int64_t groups = 1; groups <= layer.panels(); ++groups) {
        const int64_t items_each = ceil_div(fewest_blocks * groups, threads);
        const int64_t blocks = std::clamp(items_each * threads / groups, fewest_blocks, tiles);
        const double time = static_cast<double>(ceil_div(blocks * groups, threads)) *
                            item_time(ceil_div(tiles, blocks), ceil_div(layer.panels(), groups));
        if (time < least) best = {blocks, groups};
        least = std::min(least, time);
    }
    return best;
}

float* block_in(const EngineBuffer& buffer, const network::Arena& arena, size_t block) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(buffer.pointer()) + arena.offsets[block]);
}

Network::Network(const Weights& weights, const EngineOptions& options)
    : graph_(weights.graph()),
      plan_(network::plan_memory(graph_, network::kNativePath)),
      kernels_(find_kernels()),
      threads_(options.threads),
      weights_(weights, graph_, form_of(options), options.shared),
      scratch_bytes_(network::native_scratch_bytes(graph_, form_of(options))) {
    std::vector<size_t> own(graph_.size());
    std::iota(own.begin(), own.end(), size_t{0});
    calls_ = calls_for(graph_, own);
}

std::vector<Network::Call> Network::calls_for(const network::Graph& graph, const std::vector<size_t>& origin) const {
    return mapped(network::steps_of(graph, network::kNativePath.fusing), [&](const network::Step& step) {
        Call call{.step = step,
                  .kind = graph[step.first].kind,
                  .reads = network::maps_read(graph, step),
                  .adds = network::map_summed(graph, step).has_value(),
                  .layer = {}};
        if (graph[step.first].filter) call.layer = weights_.layer(origin[step.first]);
        return call;
    });
}

EngineBuffer Network::buffer_for(const network::Arena& arena) const {
    return {{}, static_cast<size_t>(arena.bytes + threads_.size() * scratch_bytes_)};
}

std::vector<float*> Network::scratch_in(const EngineBuffer& buffer, const network::Arena& arena) const {
    std::byte* const memory = static_cast<std::byte*>(buffer.pointer()) + arena.bytes;
    std::vector<float*> scratch;
    scratch.reserve(static_cast<size_t>(threads_.size()));
    for (int thread = 0; thread < threads_.size(); ++thread)
        scratch.push_back(reinterpret_cast<float*>(memory + thread * scratch_bytes_));
    return scratch;
}

void Network::run(const BatchView& in, const BatchView& out, StepClock* clock) {
    if (pixels_ != in.shape.pixels()) arena_ = network::place_blocks(plan_, in.shape.pixels());
    pixels_ = in.shape.pixels();
    const EngineBuffer buffer = buffer_for(arena_);
    Workplace place{.maps = {}, .scratch = scratch_in(buffer, arena_)};
    place.maps.reserve(graph_.size());
    for (size_t i = 0; i < graph_.size(); ++i) place.maps.push_back(whole_map(i, in, out, buffer));
    run_steps(place, clock);
}

Map Network::map_of(size_t operation, int64_t n, Extent image) const {
    const network::MapShape& shape = graph_.shape(operation);
    Map map{.rows = {},
            .n = n,
            .h = image.h / shape.scale,
            .w = image.w / shape.scale,
            .channels = shape.channels,
            .made = {},
            .columns = {}};
    map.columns = {0, map.w};
    map.rows.row_floats = map.w * map.channels;
    map.rows.channels = map.channels;
    return map;
}

Map Network::whole_map(size_t operation, const BatchView& in, const BatchView& out, const EngineBuffer& buffer) const {
    Map map = map_of(operation, in.shape.n, {in.shape.h, in.shape.w});
    map.made = {0, map.h};
    map.rows.places = map.h;
    if (operation == 0)
        map.rows.values = static_cast<float*>(in.pointer);
    else if (const auto block = plan_.block_of[operation])
        map.rows.values = block_in(buffer, arena_, *block);
    else
        map.rows.values = static_cast<float*>(out.pointer);
    return map;
}

void Network::run_steps(const Workplace& place, StepClock* clock) {
    if (clock != nullptr) clock->start();
    for (size_t step = 0; step < calls_.size(); ++step) {
        run_step(step, place);
        const Map& made = place.maps[calls_[step].step.last];
        if (clock != nullptr) clock->add(calls_[step].step, made.part());
    }
}

void Network::run_call(const Call& call, const Workplace& place) {
    switch (call.kind) {
        case network::OperationKind::input: break;
        case network::OperationKind::convolution:
        case network::OperationKind::transposed_convolution: return convolve(call, place);
        case network::OperationKind::relu:
        case network::OperationKind::add:
        case network::OperationKind::subtract: return combine(call, place);
        case network::OperationKind::concatenate: return concatenate(call, place);
        case network::OperationKind::max_pool: return max_pool(call, place);
        case network::OperationKind::upsample: return upsample(call, place);
    }
    throw Error("engine: an operation that the engine native does not know");
}

void Network::convolve(const Call& call, const Workplace& place) {
    const Map &in = place.maps[call.reads.front()], &out = place.maps[call.step.last];
    const auto rows_of = [&](size_t map) -> MapRows<const float> { return place.maps[map].read(); };
    const auto operands = std::span(call.reads).first(call.reads.size() - (call.adds ? 1 : 0));
    ConvolutionCall work{.layer = call.layer->convolution,
                         .in = mapped(operands, rows_of),
                         .out = out.rows,
                         .summand = call.adds ? place.maps[call.reads.back()].read() : MapRows<const float>{},
                         .n = in.n,
                         .h = in.h,
                         .w = in.w,
                         .rows = out.made,
                         .columns = out.columns,
                         .weights = call.layer->weights,
                         .bias = call.layer->bias,
                         .relu = call.step.is_fused() && !call.adds};
    work.streams = is_streamed(work);
    const auto scratch = [&place](int thread) { return place.scratch[static_cast<size_t>(thread)]; };
    const auto winograd = work.layer.winograd.bf16 ? kernels_.winograd_bf16 : kernels_.winograd;
    switch (work.layer.method()) {
        case network::NativeMethod::winograd: {
            const WinogradBlocks blocks = winograd_blocks(work.layer, num_tiles(work), threads_.size(), kernels_.rows);
            return threads_.run(blocks.num_items(),
                                [&](Range items, int thread) { winograd(work, blocks, items, scratch(thread)); });
        }
        case network::NativeMethod::narrow:
            return threads_.run(out.num_made(), [&](Range numbers, int) { kernels_.narrow(work, numbers); });
        case network::NativeMethod::direct:
            return threads_.run(out.num_made(),
                                [&](Range numbers, int thread) { kernels_.direct(work, numbers, scratch(thread)); });
    }
}

void Network::combine(const Call& call, const Workplace& place) {
    const Map &out = place.maps[call.step.last], &a = place.maps[call.reads.front()],
              &b = place.maps[call.reads.back()];
    for_rows(threads_, out, [&](int64_t window, int64_t y) {
        const int64_t x = out.columns.begin;
        kernels_.pixelwise({call.kind, a.rows.at(window, y, x), b.rows.at(window, y, x), out.rows.at(window, y, x)},
                           {0, out.columns.size() * out.channels});
    });
}

void Network::concatenate(const Call& call, const Workplace& place) {
    const Map& out = place.maps[call.step.last];
    for_rows(threads_, out, [&](int64_t window, int64_t y) {
        float* to = out.rows.at(window, y, out.columns.begin);
        for (const size_t operand : call.reads) {
            const Map& in = place.maps[operand];
            const float* from = in.rows.at(window, y, out.columns.begin);
            for (int64_t x = 0; x < out.columns.size(); ++x)
                std::copy_n(from + x * in.channels, in.channels, to + x * out.channels);
            to += in.channels;
        }
    });
}

void Network::max_pool(const Call& call, const Workplace& place) {
    const Map &in = place.maps[call.reads.front()], &out = place.maps[call.step.last];
    for_rows(threads_, out, [&](int64_t window, int64_t y) {
        const int64_t x = out.columns.begin;
        kernels_.max_pool({in.rows.at(window, 2 * y, 2 * x), in.rows.at(window, 2 * y + 1, 2 * x),
                           out.rows.at(window, y, x), out.columns.size(), out.channels});
    });
}

void Network::upsample(const Call& call, const Workplace& place) {
    const Map &in = place.maps[call.reads.front()], &out = place.maps[call.step.last];
    const int64_t channels = out.channels;
    for_rows(threads_, out, [&](int64_t window, int64_t y) {
        for (int64_t x = out.columns.begin; x < out.columns.end; ++x)
            std::copy_n(in.rows.at(window, y / 2, x / 2), channels, out.rows.at(window, y, x));
    });
}

}  // namespace pb::engine::native
