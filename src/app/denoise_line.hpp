// Formats the line that `denoise` prints about an image.
#pragma once

#include "app/denoise_inputs.hpp"
#include "measure/summary.hpp"

#include <string>
#include <vector>

namespace pb::app {

/// Returns "in.png -> out.png: 40x36 px (height x width), dncnn, sigma 0.1, halo 8, batch 2, ...", or the reason why
/// there is no output. The non-empty `notes` follow, then a note on visible seams.
[[nodiscard]] std::string denoise_line(const DenoiseJob& job, const record::PointTrace& trace,
                                       const measure::Summary& summary, const std::vector<std::string>& notes);

/// Says by how much an output with too small a halo differs from the whole image. Empty when seams are not visible.
[[nodiscard]] std::string seam_note(const record::PointTrace& trace);

}  // namespace pb::app
