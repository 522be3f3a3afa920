// An estimate of the noise level of one image.
#pragma once

#include "image/image.hpp"

#include <array>
#include <optional>

namespace pb::image {

inline constexpr double kStepOf8Bits = 1.0 / 255;
inline constexpr double kMadToSigma = 0.6745;  // third quartile of the standard normal distribution

/// Standard deviation of additive Gaussian noise in [0,1] units: the median absolute value of the finest diagonal Haar
/// wavelet coefficients / 0.6745 (Donoho & Johnstone 1994), median over channels. Regions of 16 x 16 pixels are
/// excluded when they are flat, or when more than 5 % of their samples are clipped to 0 or 1 (20 % when every region
/// exceeds 5 %). Returns 0 when all regions are flat; throws UsageError when all are clipped. The image is f32. Where
/// values are multiples of a step, the median is that of grouped values: of 1/255, which is seen, or of `step`, which
/// is stated (0: there is none); the larger one counts. Fine texture counts as noise: on noise-free photographs the
/// estimate is up to 0.01.
[[nodiscard]] double estimate_noise(const PixelView& image, double step = 0);

/// At full, half and a quarter of the resolution, in units of white noise, which has the same at all.
using NoiseLevels = std::array<double, 3>;

/// Noise that depends on the signal: of the darkest and of the brightest quarter of the regions.
struct NoiseByBrightness {
    double dark = 0, bright = 0;
};

struct FlatNoise {
    NoiseLevels levels{};
    std::optional<NoiseByBrightness> by_brightness;
};

/// The noise in flat regions: a fifth of the regions of 32 x 32 pixels have less detail. Median over channels. Nothing
/// where fewer than 9 regions tell. By brightness it is that of regions which have no structure, for these have as much
/// detail at each scale; nothing where fewer than 24 tell. The image is f32.
[[nodiscard]] std::optional<FlatNoise> noise_in_flat_regions(const PixelView& image);

/// The level of noise that is smooth from pixel to pixel, so that the finest detail has a part of it only: of cameras,
/// which fill in two of three colours, of enlarged images, and after strong JPEG compression. Nothing where the noise
/// is not so. In flat regions the detail at half the resolution is that of noise when it is more than 2.3 times that of
/// the finest, and less than 1/1.9 of that at a quarter of the resolution; structures grow from each to the next.
/// Levels up to `least` are none: that of the step of the samples looks alike. The image is f32.
[[nodiscard]] std::optional<double> estimate_smooth_noise(const PixelView& image, double least = kStepOf8Bits);

/// The same from noise_in_flat_regions of the image.
[[nodiscard]] std::optional<double> smooth_noise_in(const std::optional<FlatNoise>& flat, double least);

struct NoiseEstimate {
    double sigma = 0;                                  // in [0,1] units
    double finest = 0;                                 // that of the finest detail; less where the noise is smooth
    bool is_grey = false;                              // more or less equal in red, green and blue
    std::optional<NoiseByBrightness> by_brightness{};  // where the two differ by a factor of 1.6 or more
};

/// The middle of an image, of at most 2048 x 2048 pixels, in which its noise is looked for: a larger part takes longer
/// to read and says no more.
[[nodiscard]] Rect noise_region(const Extent& extent);

/// Both of these: the level for a network. `lossy_colours`: red, green and blue are from a format which has lost part
/// of the colours (ImageFile::has_lossy_colours). Then the level is that of brightness (0.299 R + 0.587 G + 0.114 B,
/// ITU-R BT.601), which has all of the resolution, over 0.669, the share in it of independent noise of equal level;
/// noise that is equal in the three counts half as much again, which suits networks for colours: they take noise for
/// independent. So it does where brightness in flat regions has at least 1.25 times the noise of red, green and blue,
/// and 0.03 at least; then the level is that of these regions, as texture is equal, too: noise of grey images in three
/// channels, of film, of what was a JPEG. Throws as estimate_noise.
[[nodiscard]] NoiseEstimate find_noise(const PixelView& image, double step = 0, bool lossy_colours = false);

}  // namespace pb::image
