// A network in the calls that an engine makes: operations one by one, or a convolution together with the ReLU or the
// sum that follows it, and with the concatenation that it reads. And which maps of these calls live when, before
// anything runs: from it follow the peak for any window and, in an arena, a place for every map. Input and output are
// the caller's and not counted, weights neither.
#pragma once

#include "patchbench/network/graph.hpp"

namespace pb::network {

// Named by the interface of engines; what they are is not installed.
class BandSchedule;   // network/parts/band_schedule.hpp
class ExchangedSlab;  // network/parts/exchanged_slab.hpp
class WindowCrop;     // network/parts/window_crop.hpp

struct Fusing {
    bool relu = true;            // ReLU(convolution)
    bool sum = true;             // convolution + a map
    bool concatenation = false;  // convolution(concatenation) by Winograd's method of the engine native
};

/// One call: operation `first`, followed by `last` on its result where the two differ. Only the map of `last` is
/// stored.
struct Step {
    size_t first = 0;
    size_t last = 0;
    bool joins = false;  // `first` reads the operands of its concatenation side by side; that has no map and no step

    [[nodiscard]] bool is_fused() const { return first != last; }
    friend bool operator==(const Step&, const Step&) = default;
};

/// All operations but the input, in their order; a fused step stands where its last operation does. A convolution is
/// fused with the only operation that uses its map. A sum that makes the output is a step of its own: it writes into
/// the caller's memory. Of two convolutions that are summed the later one is fused. Transposed convolutions never are.
/// A concatenation is fused with all of its readers or with none.
[[nodiscard]] std::vector<Step> steps_of(const Graph& graph, const Fusing& fusing);

/// The maps that `first` reads, in the order of their channels.
[[nodiscard]] const std::vector<size_t>& operands_of(const Graph& graph, const Step& step);

/// The operations whose maps a step reads: operands_of(), then the other operand of a fused sum.
[[nodiscard]] std::vector<size_t> maps_read(const Graph& graph, const Step& step);

/// By operation, the last of `steps` that reads its map; 0 where none does.
[[nodiscard]] std::vector<size_t> last_readers_of(const Graph& graph, const std::vector<Step>& steps);

/// The map to which a fused step adds its convolution; none where it adds nothing.
[[nodiscard]] std::optional<size_t> map_summed(const Graph& graph, const Step& step);

/// How an engine spends memory.
struct MemoryPath {
    Fusing fusing;
    bool transposes_by_taps = false;  // a transposed convolution makes each quarter of its map apart, then copies it
    bool copies_kernels = true;       // a convolution runs with a copy of its kernel, in an order of its own
    bool copies_output = true;        // an output that no sum makes is a map first, then copied to the caller's
    bool sums_after_layer = false;    // a layer with a fused sum is a map first, then added to the other operand
    int64_t value_bytes = 4;          // of maps and kernels
};

/// The engine torch on the CPU: oneDNN, channels last.
inline constexpr MemoryPath kOnednnPath{.fusing = {.relu = true, .sum = true}, .transposes_by_taps = true};
/// On CUDA: cuDNN, whose scratch memory is counted as a copy of the kernel.
inline constexpr MemoryPath kCudnnPath{.fusing = {.relu = true, .sum = false}};
inline constexpr MemoryPath kFusedCudnnPath{.fusing = {.relu = true, .sum = true}};
/// On CUDA where pieces of maps are computed (network/parts/pieces.hpp): the steps of the CPU, each layer by cuDNN.
inline constexpr MemoryPath kCudnnPiecesPath{.fusing = {.relu = true, .sum = true}, .sums_after_layer = true};

struct MemorySize {
    double bytes_per_pixel = 0;  // of the input at full extent, times the batch
    int64_t fixed_bytes = 0;

    [[nodiscard]] int64_t bytes(int64_t pixels) const;
    friend bool operator==(const MemorySize&, const MemorySize&) = default;
};

/// Memory that is needed in the steps [begin, end).
struct MemoryBlock {
    MemorySize size;
    size_t begin = 0;
    size_t end = 0;
};

struct MemoryPlan {
    std::vector<Step> steps;
    /// Of maps, and of what a step needs only while it runs. A map that is overwritten in place by the next one shares
    /// its block.
    std::vector<MemoryBlock> blocks;
    /// By operation; none for the input, for an output that is written to the caller's memory and for what is fused
    /// away.
    std::vector<std::optional<size_t>> block_of;
};

/// A ReLU, a sum, a difference and the sum of a fused convolution overwrite a map that nothing reads afterwards; every
/// other step writes to a block of its own.
[[nodiscard]] MemoryPlan plan_memory(const Graph& graph, const MemoryPath& path);

/// The map in whose block `step`, one of the plan, writes its result; none where the result has a block of its own.
[[nodiscard]] std::optional<size_t> map_overwritten(const Graph& graph, const MemoryPlan& plan, const Step& step);

/// What lives while each step runs.
[[nodiscard]] std::vector<MemorySize> live_sizes(const MemoryPlan& plan);

/// Those of `live_sizes` that are the peak for some number of pixels, from large windows to small ones.
[[nodiscard]] std::vector<MemorySize> peak_sizes(const MemoryPlan& plan);

}  // namespace pb::network
