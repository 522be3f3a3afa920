// The quality of the output and of the noisy image, when the clean image is known.
#pragma once

#include "record/point.hpp"
#include "run/point/rank_share.hpp"

namespace pb::run {

/// Returns PSNR and SSIM before and after denoising. Call it only on the root.
[[nodiscard]] record::Quality measure_quality(const Slab& output, ImageSource& source);
/// Returns the PSNR of a streamed output: each rank compares its own windows. SSIM is left out because its windows
/// cross the borders of the ranks' windows. Collective.
[[nodiscard]] record::Quality measure_quality_by_windows(const Team& team, const RankShare& share, ImageSource& source);

}  // namespace pb::run
