// What every engine insists on before it touches a pointer.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb {

struct ExpectedViews {
    NetworkKind kind;
    int64_t channels_in;
    int64_t channels_out;
    int64_t alignment;   // of the extents
    int64_t widest_map;  // values per pixel
    DType dtype;
    Layout layout;
    DeviceId device;
};

[[nodiscard]] ExpectedViews expected_views(const Weights& weights, const EngineOptions& options);

/// Throws Error where a view does not fit, and IndexLimit where one sample would have 2^31 elements or more in the
/// widest layer: more than LibTorch's and cuDNN's 32-bit indices can name, however much memory there is.
void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out);

}  // namespace pb
