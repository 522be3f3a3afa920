// How much better the output is than the noisy image, where the clean one is known.
#pragma once

#include "record/point.hpp"
#include "run/point/rank_share.hpp"

namespace pb {

/// PSNR and SSIM before and after; on the root only.
[[nodiscard]] Quality measure_quality(const Slab& output, ImageSource& source);
/// PSNR, of an output that no rank holds: each rank looks at its own windows. No SSIM, whose windows cross theirs.
/// Collective.
[[nodiscard]] Quality measure_quality_by_windows(const Team& team, const RankShare& share, ImageSource& source);

}  // namespace pb
