// One window through a network, host to host, one step after the other: what `check` does.
#pragma once

#include "device/convert.hpp"
#include "image/image.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb {

/// Output of `denoiser` for `window` (f32, extents multiples of the network's alignment), of the same extent and type.
/// `denoiser` must run in fp32 with contiguous tensors on `device`, which the calling thread has selected. Waits for
/// `stream`.
[[nodiscard]] Image run_window(Denoiser& denoiser, Image window, const Conversion& conversion, DeviceId device,
                               Stream& stream);

}  // namespace pb
