// Image quality against a reference, and the noise level of an image without one.
#pragma once

#include "image/image.hpp"

namespace pb {

/// Sum of squared differences over all samples, values clipped to [0,1]. Both f32, equal extents.
[[nodiscard]] double squared_error(const PixelView& image, const PixelView& reference);
/// Peak signal-to-noise ratio in dB of a sum of squared errors over so many samples, peak 1.
[[nodiscard]] double psnr_of(double squared_error, int64_t num_samples);

/// Peak signal-to-noise ratio in dB over all samples, values clipped to [0,1], peak 1. Both f32, equal extents.
/// Infinite for equal images.
[[nodiscard]] double psnr(const PixelView& image, const PixelView& reference);

/// Mean structural similarity (Wang et al. 2004): 11x11 Gaussian window of sigma 1.5, K1 0.01, K2 0.03, values clipped
/// to [0,1], mean over channels. Both f32, equal extents, at least 11x11.
[[nodiscard]] double ssim(const PixelView& image, const PixelView& reference);

/// Largest absolute difference of two f32 images of equal extents; NaN anywhere gives NaN.
[[nodiscard]] double max_abs_difference(const PixelView& a, const PixelView& b);

/// Standard deviation of additive Gaussian noise in [0,1] units: median absolute value of the finest diagonal Haar
/// wavelet coefficients / 0.6745 (Donoho & Johnstone 1994), median over channels. Regions of 16 x 16 pixels that are
/// flat, or of which more than 5 % are clipped (0 or 1; up to 20 % where all are), are left out: 0 when all is flat,
/// UsageError when all is clipped. Images of any dtype; values that all are multiples of 1/255 are taken as grouped.
/// Fine texture counts as noise: on photographs it finds up to 0.01 where there is none.
[[nodiscard]] double estimate_noise(const PixelView& image);

}  // namespace pb
