// Pictures before and after denoising, for the report.
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/image_source.hpp"
#include "run/run.hpp"

namespace pb::run {

/// Writes the centre of the image, at most `edge` pixels on a side: the network's input, the output and, if known, the
/// clean image. 8-bit PNG, values clipped to [0,1]. Call it only on the root. Throws Error when a file cannot be
/// written.
[[nodiscard]] record::Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge,
                                           const PointFiles& files);

}  // namespace pb::run
