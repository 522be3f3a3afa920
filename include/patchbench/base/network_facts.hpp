// What is known of each network before it is built: arithmetic for plans, tables and bounds. Derived from the
// architectures of DRUNet (Zhang et al. 2021, deepinv `models/drunet.py`), UNet (deepinv `models/unet.py`) and
// DnCNN (Zhang et al. 2017, deepinv `models/dncnn.py`). It builds nothing and loads nothing.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <string_view>

namespace pb {

enum class NetworkKind : uint8_t { drunet, unet, dncnn };

template <>
struct EnumNames<NetworkKind> {
    static constexpr std::array<std::pair<NetworkKind, std::string_view>, 3> names{
        {{NetworkKind::drunet, "drunet"}, {NetworkKind::unet, "unet"}, {NetworkKind::dncnn, "dncnn"}}};
};

/// What a forward call holds at one of its moments, fp32, besides weights, input and output.
struct MemoryMoment {
    int64_t bytes_per_pixel;  // activations, per pixel of the window
    int64_t kernel_bytes;     // the layer's kernel once more, in the order that the convolution wants
};

struct NetworkFacts {
    NetworkKind kind;
    int64_t alignment;         // extents must be multiples of this
    int64_t receptive_radius;  // pixels on each side that can change an output pixel
    int64_t exact_halo;        // pixels: what a core aligned to `alignment` can see, rounded up to `alignment`
    bool takes_sigma;          // one more input channel that holds sigma in [0,1] units
    int64_t parameters_colour;
    int64_t parameters_gray;
    int64_t mac_per_pixel_colour;
    int64_t mac_per_pixel_gray;
    int64_t values_moved_colour;  // per pixel, see `values_moved_per_pixel`
    int64_t values_moved_gray;
    int64_t num_convolutions;
    MemoryMoment widest;   // the peak of large windows: full-resolution maps
    MemoryMoment deepest;  // the peak of small ones: the largest kernels, with the maps that wait for the way up
    // Where the sum of a residual block is a kernel of its own (CUDA), the convolution's result is one map more.
    int64_t widest_sum_bytes_per_pixel;
    int64_t deepest_sum_bytes_per_pixel;
    int64_t widest_map;  // channels of the widest full-resolution tensor (32-bit index limit)
};

/// Facts of `kind` (dncnn: depth 20). Valid for the lifetime of the program.
[[nodiscard]] const NetworkFacts& network_facts(NetworkKind kind);

/// Multiply-accumulates per pixel for 1 (gray) or 3 (colour) image channels. FLOP = 2 MAC.
[[nodiscard]] int64_t mac_per_pixel(NetworkKind kind, int64_t channels);

/// Values that pass between memory and arithmetic per pixel at least, layer by layer: what each convolution reads and
/// writes, and the other operand of each sum. Pooling, doubling and joining of maps are not in it, weights neither.
[[nodiscard]] int64_t values_moved_per_pixel(NetworkKind kind, int64_t channels);

}  // namespace pb
