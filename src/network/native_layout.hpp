// How the CPU engine `native` computes each convolution, and the memory that its maps, its weights and its scratch
// take. The engine allocates by these figures and the plan predicts with them. They depend on the graph and the
// precision, never on the processor.
#pragma once

#include "network/graph_facts.hpp"

#include "patchbench/base/shape.hpp"
#include "patchbench/network/memory_plan.hpp"

#include <vector>

namespace pb::network {

/// The engine native: maps lie in one arena, the last step writes to the caller's memory.
inline constexpr MemoryPath kNativePath{
    .fusing = {.relu = true, .sum = true, .concatenation = true}, .copies_kernels = false, .copies_output = false};

enum class NativeMethod : uint8_t {
    winograd,  // 3x3, F(4x4, 3x3): a quarter of the multiplications; F(2x2, 3x3) where memory is short
    narrow,    // to few channels: dot products over the channels of the operand
    direct     // all others
};

inline constexpr int64_t kNativeLanes = 16;       // floats in the widest vector
inline constexpr int64_t kNativePanel = 32;       // output channels whose weights lie side by side
inline constexpr int64_t kNarrowChannels = 4;     // at most, of the output
inline constexpr int64_t kWinogradChannels = 16;  // at least, in and out: fewer are not worth the transforms
inline constexpr int64_t kDirectPixels = 14;      // of a row, at most, that are computed together
/// Pixels of the output of Winograd's method along each axis. Rows are scheduled in tiles of the usual size, into which
/// small ones divide evenly: every schedule is right for both.
inline constexpr int64_t kWinogradTile = 4;
inline constexpr int64_t kSmallWinogradTile = 2;  // 16/36 of the transformed weights, 64/36 of the multiplications
static_assert(kWinogradTile % kSmallWinogradTile == 0);
/// Floats added to the rows of a transformed block, so that they do not fall onto the same lines of the cache.
inline constexpr int64_t kWinogradSkew = 16;

/// Pixels of the operand along each axis for one tile.
constexpr int64_t winograd_patch(int64_t tile) { return tile + 2; }
/// Products for one tile and one channel.
constexpr int64_t winograd_products(int64_t tile) { return winograd_patch(tile) * winograd_patch(tile); }

/// How Winograd's method computes.
struct WinogradForm {
    int64_t tile = kWinogradTile;
    bool bf16 = false;  // operands and weights are rounded to bf16 after they are transformed; sums are fp32

    bool operator==(const WinogradForm&) const = default;
    /// Floats of memory in which the operands of `channels`, an even number, lie.
    [[nodiscard]] constexpr int64_t operand_floats(int64_t channels) const { return bf16 ? channels / 2 : channels; }
};

/// `tile`: in fp32. In bf16 tiles are small: with the usual ones the sums would lose what bf16 has left (relative error
/// of a layer 1.4e-2 instead of 4e-3).
constexpr WinogradForm winograd_form(int64_t tile, Precision precision) {
    const bool bf16 = precision == Precision::bf16;
    return {bf16 ? kSmallWinogradTile : tile, bf16};
}

/// One convolution as the engine sees it.
struct NativeConvolution : ConvolutionShape {
    WinogradForm winograd;  // of Winograd's method, whether that is the method or not

    [[nodiscard]] NativeMethod method() const;
    /// Multiplications that are executed for each one of a direct convolution; those of transforms are left out.
    [[nodiscard]] double executed_share() const;
    /// Panels of weights, the last one filled up.
    [[nodiscard]] int64_t panels() const { return ceil_div(columns(), kNativePanel); }
    /// Columns of the products that a direct convolution makes: a transposed one makes two pixels of a row together.
    [[nodiscard]] int64_t columns() const { return transposed ? 2 * out_channels : out_channels; }
    /// Rows of weights for one column and one `segment`, which is a row of the kernel.
    [[nodiscard]] int64_t depth() const { return transposed ? in_channels : kernel * in_channels; }
    /// Floats of the weights in the order in which the engine reads them, and of the bias.
    [[nodiscard]] int64_t packed_weights() const;
    [[nodiscard]] int64_t packed_bias() const;
    /// Floats of scratch memory of each thread.
    [[nodiscard]] int64_t scratch() const;
};

/// Operation `index` of `graph`, which must be a convolution.
[[nodiscard]] NativeConvolution native_convolution(const Graph& graph, size_t index, WinogradForm form = {});

/// Whether operation `index` is a convolution by Winograd's method; the precision makes no difference.
[[nodiscard]] bool uses_winograd(const Graph& graph, size_t index);

/// Whether the convolutions that read concatenation `index` can read its operands where they lie. All its readers must
/// use Winograd's method, which transforms each channel by itself. Its vectors lie within one operand, and bf16 stores
/// channels in pairs: so each operand has kWinogradChannels or more, an even number.
[[nodiscard]] bool is_read_in_parts(const Graph& graph, size_t index);

/// The part of a network's multiplications that Winograd's method computes: those that bf16 makes faster.
[[nodiscard]] double winograd_share(const Graph& graph);

/// FLOP that the engine executes for each pixel of the input: see NativeConvolution::executed_share.
[[nodiscard]] double native_flop_per_pixel(const Graph& graph, WinogradForm form);

/// Tiles that are transformed and multiplied together: so many that both stay in a second-level cache of 1 MiB, and
/// more where the weights are too many for it. Of small tiles in fp32 twice as many, so that as much is computed
/// with each weight.
[[nodiscard]] int64_t winograd_tiles(int64_t in_channels, WinogradForm form);

/// Of all packed weights. `sharers`: the processes that share them; then the part that each of them counts.
[[nodiscard]] int64_t native_weight_bytes(const Graph& graph, WinogradForm form, int64_t sharers = 1);

/// Of each thread; a multiple of 64.
[[nodiscard]] int64_t native_scratch_bytes(const Graph& graph, WinogradForm form);

inline constexpr int64_t kArenaAlignment = 64;  // bytes: one cache line and the widest vector register

/// A place for every block of a memory plan in one allocation, before anything runs.
struct Arena {
    std::vector<int64_t> offsets;  // in bytes, one for each block of the plan; multiples of kArenaAlignment
    int64_t bytes = 0;             // of the whole arena
};

/// `pixels` counts those of all windows of a batch; extents of windows are multiples of the network's alignment. Blocks
/// that are live at the same time never overlap. Greedy (Pisarchyk & Lee 2020): each block goes into the smallest gap
/// that holds it between the placed blocks that are live at the same time. Blocks are placed largest first or earliest
/// first, whichever takes less memory.
[[nodiscard]] Arena place_blocks(const MemoryPlan& plan, int64_t pixels);

}  // namespace pb::network
