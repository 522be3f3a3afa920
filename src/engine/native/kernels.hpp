// What the kernels of the engine `native` are asked: plain values, the same for every instruction set. Maps are NHWC
// float32, dense.
#pragma once

#include "network/native_layout.hpp"

#include "patchbench/base/shape.hpp"

#include <cstdint>
#include <vector>

namespace pb::engine::native {

/// How a Winograd convolution is cut into work for threads: item = block of tiles * num_groups + group of output
/// channels. Each thread takes as many as the others, or one more.
struct WinogradBlocks {
    int64_t num_blocks = 1;
    int64_t num_groups = 1;
    [[nodiscard]] int64_t num_items() const { return num_blocks * num_groups; }
};

/// The cut with which the busiest thread takes least time. Blocks hold at most network::winograd_tiles. `tiles`: of all
/// windows. `rows`: tiles that a product computes together (Kernels::rows), of which a full block holds a multiple.
[[nodiscard]] WinogradBlocks winograd_blocks(const network::NativeConvolution& layer, int64_t tiles, int64_t threads,
                                             int64_t rows);

/// The rows of a map in memory. Each window has `places`; row y of the map is at place (y - first) % places, so that
/// not all rows need be there. The rows of a tile never lie on both sides of a wrap in what is written or summed. A row
/// holds the columns from `first_column` on.
template <class Value>
struct MapRows {
    Value* values = nullptr;  // null: no map
    int64_t first = 0;
    int64_t places = 1;
    int64_t row_floats = 0;
    int64_t first_column = 0;
    int64_t channels = 0;

    [[nodiscard]] int64_t place(int64_t y) const { return (y - first) % places; }
    [[nodiscard]] Value* row(int64_t window, int64_t y) const {
        return values + (window * places + place(y)) * row_floats;
    }
    [[nodiscard]] Value* at(int64_t window, int64_t y, int64_t x) const {
        return row(window, y) + (x - first_column) * channels;
    }
};

/// One convolution on one map, with the ReLU or the sum that follows it.
struct ConvolutionCall {
    network::NativeConvolution layer;
    /// The map that is read; by Winograd's method also several of the same extents, whose channels are joined.
    std::vector<MapRows<const float>> in;
    MapRows<float> out;
    MapRows<const float> summand;    // of a map with the extents of `out`, which may be the same
    int64_t n = 0, h = 0, w = 0;     // of the map that is read
    Range rows;                      // of each window of the result, to compute; begins on a tile
    Range columns;                   // the same; of a transposed convolution begins and ends on an even one
    const float* weights = nullptr;  // see packed_weights.hpp
    const float* bias = nullptr;     // of all columns, zeros where there is none
    bool relu = false;
    bool streams = false;  // write past the caches; rows are multiples of 64 bytes then

    [[nodiscard]] int64_t padding() const { return layer.kernel == 3 ? 1 : 0; }
    /// Window and row of the result, for a number that counts `rows` over all windows.
    [[nodiscard]] int64_t window_of(int64_t number) const { return number / rows.size(); }
    [[nodiscard]] int64_t row_of(int64_t number) const { return rows.begin + number % rows.size(); }
};

/// One value of the result for each value of the operands.
struct PixelwiseCall {
    network::OperationKind kind = network::OperationKind::relu;  // or add, subtract
    const float* a = nullptr;
    const float* b = nullptr;
    float* out = nullptr;  // may be `a` or `b`
};

/// One row of the result, from two rows of the operand.
struct MaxPoolCall {
    const float* above = nullptr;
    const float* below = nullptr;
    float* out = nullptr;
    int64_t out_w = 0;
    int64_t channels = 0;
};

/// The kernels for one instruction set. Each function computes a range of work items (rows of the result are counted
/// over all windows); the bits of a value do not depend on the range that it is in. `scratch`: memory of the calling
/// thread, 64-byte aligned, `layer.scratch()` floats.
struct Kernels {
    using Winograd = void (*)(const ConvolutionCall& call, const WinogradBlocks& blocks, Range items, float* scratch);
    Winograd winograd;
    Winograd winograd_bf16;  // null: the processor has no products of bf16
    void (*direct)(const ConvolutionCall& call, Range numbers, float* scratch);
    void (*narrow)(const ConvolutionCall& call, Range numbers);
    void (*pixelwise)(const PixelwiseCall& call, Range values);
    void (*max_pool)(const MaxPoolCall& call);
    int64_t rows = 1;  // of a product, tiles or pixels, that are computed together; blocks hold a multiple
};

/// Those for the best instruction set of this processor that Highway supports.
[[nodiscard]] Kernels find_kernels();

}  // namespace pb::engine::native
