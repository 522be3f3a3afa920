// An estimate of the noise level of one image.
#pragma once

#include "image/image.hpp"

namespace pb::image {

/// Standard deviation of additive Gaussian noise in [0,1] units: the median absolute value of the finest diagonal Haar
/// wavelet coefficients / 0.6745 (Donoho & Johnstone 1994), median over channels. Regions of 16 x 16 pixels are
/// excluded when they are flat, or when more than 5 % of their samples are clipped to 0 or 1 (20 % when every region
/// exceeds 5 %). Returns 0 when all regions are flat; throws UsageError when all are clipped. The image is f32. Where
/// values are multiples of a step, the median is that of grouped values: of 1/255, which is seen, or of `step`, which
/// is stated (0: there is none); the larger one counts. Fine texture counts as noise: on noise-free photographs the
/// estimate is up to 0.01.
[[nodiscard]] double estimate_noise(const PixelView& image, double step = 0);

/// The same for red, green and blue that a format stored with lossy colours (ImageFile::has_lossy_colours): from
/// brightness (0.299 R + 0.587 G + 0.114 B, ITU-R BT.601), which has all of the resolution, over 0.669, which is the
/// share that independent noise of equal level in the channels has in it. What compression took out of brightness is
/// missing: little from quality 85 on, half where noise of 0.05 meets quality 75.
[[nodiscard]] double estimate_noise_in_brightness(const PixelView& image);

}  // namespace pb::image
