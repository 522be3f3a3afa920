// Synthetic scenes and noise as functions of (seed, row, column, channel): any size, no file, the same pixels however
// the image is cut. Counter-based generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC11).
#pragma once

#include "image/image.hpp"

#include <cstdint>

namespace pb {

/// Fills `to` (f32 in [0,1], 1 or 3 channels) with the part of an endless scene whose first pixel is (row, column):
/// smooth shading, edges at many scales and fine texture, so that PSNR and seams mean something on it. Rows and columns
/// repeat after 2^32 cells of the scene; a gray scene is the first channel of the coloured one.
void fill_scene(uint64_t seed, int64_t row, int64_t column, MutablePixelView to);

/// Adds Gaussian noise of standard deviation `sigma` ([0,1] units) to `image` (f32), whose first pixel is (row,
/// column), neither of them negative. The result is not clipped. Gaussian by Box-Muller with portable polynomials: the
/// same bits on every machine. |noise| stays below 5.9 sigma.
void add_noise(double sigma, uint64_t seed, int64_t row, int64_t column, MutablePixelView image);

}  // namespace pb
