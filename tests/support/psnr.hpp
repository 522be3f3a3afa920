// Peak signal-to-noise ratio of a whole image.
#pragma once

#include "image/quality.hpp"

namespace pb::test {

/// In dB over all samples, as squared_error() takes them.
inline double psnr(const PixelView& image, const PixelView& reference) {
    return image::psnr_of(image::squared_error(image, reference), image.extent.pixels() * image.channels);
}

}  // namespace pb::test
