// A network in the calls that an engine makes: operations one by one, or a convolution together with the ReLU or the
// sum that follows it, and with the concatenation that it reads.
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

}  // namespace pb::network
