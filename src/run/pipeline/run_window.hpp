// Runs one window through a network from host to host, one step after another, for the command `check`.
#pragma once

#include "device/convert.hpp"
#include "image/image.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::run {

/// Returns the output of `denoiser` for `window` (f32, extents multiples of the network's alignment), with the same
/// extent and type. `denoiser` must run in fp32 with contiguous tensors on `device`, which the calling thread must have
/// selected. Synchronises `stream`.
[[nodiscard]] image::Image run_window(engine::Denoiser& denoiser, image::Image window,
                                      const device::Conversion& conversion, DeviceId device, device::Stream& stream);

}  // namespace pb::run
