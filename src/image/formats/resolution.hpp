// The resolution of an image in the units of the formats that hold one.
#pragma once

#include "image/image_file.hpp"

#include <cstdint>
#include <optional>

namespace pb::image {

/// Said of pixels that are not square, in a PNG or JPEG that gives no resolution.
inline constexpr const char* kAspectRatio = "ratio of a pixel's sides";

/// The resolution in a JPEG: whole dots per inch or per centimetre.
struct JpegDensity {
    bool per_inch;
    uint16_t x, y;
};

/// Returns the density nearest to the resolution of `metadata`; none where there is no resolution, or where a JPEG
/// holds it in neither unit.
[[nodiscard]] std::optional<JpegDensity> jpeg_density(const ImageMetadata& metadata);

/// The resolution in a PNG or BMP: whole dots per metre.
struct DotsPerMetre {
    uint32_t x = 0, y = 0;
};

/// Returns the nearest to the resolution of `metadata`; none where there is no resolution, or where 31 bits hold none.
[[nodiscard]] std::optional<DotsPerMetre> dots_per_metre(const ImageMetadata& metadata);

}  // namespace pb::image
