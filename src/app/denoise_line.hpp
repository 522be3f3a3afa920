// What `denoise` prints of each image.
#pragma once

#include "app/denoise_inputs.hpp"
#include "measure/summary.hpp"

#include <string>
#include <vector>

namespace pb {

/// "in.png -> out.png: 40x36, dncnn, sigma 0.1, halo 8, batch 2, ...", or why there is no output. `notes` follow, those
/// that are not empty, and what can be said of seams.
[[nodiscard]] std::string denoise_line(const DenoiseJob& job, const PointTrace& trace, const Summary& summary,
                                       const std::vector<std::string>& notes);

}  // namespace pb
