// Pictures before and after for the report.
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/image_source.hpp"
#include "run/run.hpp"

namespace pb {

/// Writes the centre of the image, at most `edge` pixels a side: what the network was given, what came out and, where
/// it is known, what should have. 8-bit PNG, values clipped to [0,1]. On the root; throws Error when a file cannot be
/// written.
[[nodiscard]] Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge, const PointFiles& files);

}  // namespace pb
