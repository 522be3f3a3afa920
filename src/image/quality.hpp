// Image quality against a reference image.
#pragma once

#include "image/image.hpp"

namespace pb::image {

/// Sum of squared differences over all samples, values clipped to [0,1]. Both images are f32 with equal extents.
[[nodiscard]] double squared_error(const PixelView& image, const PixelView& reference);
/// Samples beyond these are too far outside of [0,1] for noise to have taken them there.
inline constexpr double kFarBelow = -1, kFarAbove = 2;
/// Counts the samples that are far outside of [0,1] in both f32 images, of equal extents: clipped, they tell nothing.
[[nodiscard]] int64_t count_far_outside(const PixelView& image, const PixelView& reference);
/// Peak signal-to-noise ratio in dB for a sum of squared errors over `num_samples` samples, peak 1. Infinite for 0.
[[nodiscard]] double psnr_of(double squared_error, int64_t num_samples);

constexpr int kSsimWindow = 11;  // pixels of an edge; smaller images have no SSIM

/// Sum of structural similarities (Wang et al. 2004) over all windows inside the images and all channels: Gaussian
/// window of 11x11 with sigma 1.5, K1 0.01, K2 0.03, values clipped to [0,1]. Both images are f32 with equal extents of
/// at least 11x11. Bands of rows that overlap by 10 rows have the windows of all of them together.
[[nodiscard]] double ssim_sum(const PixelView& image, const PixelView& reference);
/// The mean over the windows of an image, for their sum.
[[nodiscard]] double ssim_of(double ssim_sum, const Extent& extent, int64_t channels);

/// Largest absolute difference of two f32 images of equal extents. It is NaN when any sample is NaN.
[[nodiscard]] double max_abs_difference(const PixelView& a, const PixelView& b);

/// A map of the differences between two images, in cells coarse enough to be stored with the results of a run.
struct DifferenceMap {
    int64_t cell_px = 1;          // edge of a cell, in pixels
    std::vector<double> largest;  // absolute difference in each cell, row by row; NaN where the cell holds one
};

/// Compares two f32 images of equal extents. The edge of a cell is the smallest power of two, at least 4 pixels, that
/// gives at most 48 cells along an axis. The last cells of an axis may be smaller.
[[nodiscard]] DifferenceMap map_differences(const PixelView& a, const PixelView& b);

}  // namespace pb::image
