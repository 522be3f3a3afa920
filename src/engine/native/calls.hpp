// What the kernels of the engine `native` are asked: plain values, the same for every instruction set. Maps are NHWC
// float32, dense.
#pragma once

#include "network/native_layout.hpp"

#include "patchbench/base/shard.hpp"

namespace pb::engine::native {

/// One convolution on one map, with the ReLU or the sum that follows it.
struct ConvolutionCall {
    network::NativeConvolution layer;
    const float* in = nullptr;
    float* out = nullptr;
    const float* summand = nullptr;  // a map like `out`, or `out` itself; null: nothing is added
    int64_t n = 0, h = 0, w = 0;     // of `in`
    const float* weights = nullptr;  // see pack.hpp
    const float* bias = nullptr;     // of all columns, zeros where there is none
    bool relu = false;
    bool streams = false;  // write past the caches; `out` is a multiple of 64 bytes then

    [[nodiscard]] int64_t out_h() const { return extent_out(h); }
    [[nodiscard]] int64_t out_w() const { return extent_out(w); }
    [[nodiscard]] int64_t padding() const { return layer.kernel == 3 ? 1 : 0; }

  private:
    [[nodiscard]] int64_t extent_out(int64_t in_extent) const {
        if (layer.transposed) return 2 * in_extent;
        return (in_extent + 2 * padding() - layer.kernel) / layer.stride + 1;
    }
};

/// How a Winograd convolution is cut into work items: item = block of tiles * num_groups + group of output channels.
/// Groups exist only where the map has fewer blocks than there are threads.
struct WinogradBlocks {
    int64_t num_blocks = 1;
    int64_t num_groups = 1;
    [[nodiscard]] int64_t num_items() const { return num_blocks * num_groups; }
};

/// One value of the result for each value of the operands.
struct PixelwiseCall {
    network::OperationKind kind = network::OperationKind::relu;  // or add, subtract
    const float* a = nullptr;
    const float* b = nullptr;
    float* out = nullptr;  // may be `a` or `b`
};

/// Rows of the result, counted over all windows of the batch.
struct MaxPoolCall {
    const float* in = nullptr;
    float* out = nullptr;
    int64_t w = 0;  // of the operand
    int64_t channels = 0;
};

/// The kernels for one instruction set. Each function computes a range of work items; the bits of a value do not depend
/// on the range that it is in. `scratch`: memory of the calling thread, 64-byte aligned, `layer.scratch()` floats.
struct Kernels {
    void (*winograd)(const ConvolutionCall& call, const WinogradBlocks& blocks, Range items, float* scratch);
    void (*direct)(const ConvolutionCall& call, Range out_rows, float* scratch);
    void (*narrow)(const ConvolutionCall& call, Range out_rows);
    void (*pixelwise)(const PixelwiseCall& call, Range values);
    void (*max_pool)(const MaxPoolCall& call, Range out_rows);
};

/// Those for the best instruction set of this processor that Highway supports.
[[nodiscard]] Kernels find_kernels();

}  // namespace pb::engine::native
