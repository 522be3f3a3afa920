// Synthetic scenes and noise as functions of (seed, row, column, channel). They have any size, need no file, and give
// the same pixels however the image is divided. Random numbers: the counter-based generator Philox4x32-10 (Salmon et
// al., "Parallel random numbers: as easy as 1, 2, 3", SC11).
#pragma once

#include "image/image.hpp"

#include <cstdint>

namespace pb::image {

/// Fills `to` (f32 in [0,1], 1 or 3 channels) with the part of an infinite scene whose first pixel is (row, column).
/// The scene has smooth shading, edges at many scales and fine texture, so that PSNR and seams are meaningful. Rows and
/// columns repeat after 2^32 cells of the scene. A gray scene is the first channel of the coloured one.
void fill_scene(uint64_t seed, int64_t row, int64_t column, MutablePixelView to);

/// Adds Gaussian noise of standard deviation `sigma` ([0,1] units) to `image` (f32). Its first pixel is (row, column);
/// both must be >= 0. The result is not clipped. The noise is made by Box-Muller with portable polynomials: the same
/// bits on every machine. |noise| is less than 5.9 sigma.
void add_noise(double sigma, uint64_t seed, int64_t row, int64_t column, MutablePixelView image);

}  // namespace pb::image
