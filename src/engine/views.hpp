// What a network expects of its windows: the checks that all engines make before they touch a pointer.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

struct ExpectedViews {
    network::NetworkKind kind;
    int64_t channels_in;
    int64_t channels_out;
    int64_t alignment;   // extents are multiples of it
    int64_t widest_map;  // in values per pixel
    DType dtype{};
    Layout layout{};
    DeviceId device{};
};

[[nodiscard]] ExpectedViews expected_views(const Weights& weights, const EngineOptions& options);

/// Throws Error when a view does not fit, and IndexLimit when one sample would have 2^31 elements or more in the widest
/// layer: more than 32-bit indices of LibTorch and cuDNN can address, whatever the memory.
void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out);

}  // namespace pb::engine
