// What plans, tables and bounds need to know of a network, derived from its graph: nothing here is a table.
#pragma once

#include "patchbench/network/memory_plan.hpp"
#include "patchbench/network/network_card.hpp"
#include "patchbench/network/network_shape.hpp"

namespace pb::network {

/// The smallest noise level that a network is trained for or run at, in [0,1] units: far below one grey level of 16
/// bits' noise. A network trained for one sigma scales its input by the quotient of two.
inline constexpr double kSmallestSigma = 1e-4;

struct NetworkFacts {
    NetworkKind kind = kind_of<DrunetShape>();
    int64_t alignment = 1;         // windows begin at multiples of this
    int64_t step = 1;              // extents must be multiples of this; it divides the alignment
    int64_t receptive_radius = 0;  // pixels on each side that can change an output pixel
    int64_t exact_halo = 0;        // pixels: what a core aligned to `alignment` can see, rounded up to `alignment`
    bool is_bounded = true;        // false: any pixel of a window can change any other; radius and halo mean nothing
    std::optional<int64_t> most_windows{};  // in one call; none: any number
    bool takes_sigma = false;               // one more input channel that holds sigma in [0,1] units
    int64_t parameters = 0;                 // as trained: with scale and shift of each batch norm
    double mac_per_pixel = 0;               // FLOP = 2 MAC
    double values_per_pixel = 0;  // moved between memory and arithmetic at least, see `values_moved_per_pixel`
    int64_t num_convolutions = 0;
    double widest_map = 0;  // values per pixel of the largest map (32-bit index limit)
};

/// Derived once a shape and valid for the lifetime of the program.
[[nodiscard]] const NetworkFacts& network_facts(const NetworkShape& shape);

/// Facts of a network that the user brings: of its layers, where they are known. Else what no card says is 0:
/// parameters, arithmetic, convolutions.
[[nodiscard]] const NetworkFacts& network_facts(const NetworkCard& card);

/// Facts of the standard shape for gray (`channels` 1) or colour images (any other number).
[[nodiscard]] inline const NetworkFacts& network_facts(NetworkKind kind, int64_t channels = 3) {
    return network_facts(standard_shape(kind, channels));
}

}  // namespace pb::network
