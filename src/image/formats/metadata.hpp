// What the formats say beside the samples: EXIF blocks (TIFF structure, without the prefix "Exif\0\0"), of which only
// the orientation is understood, and the resolution in the units of the formats that hold one.
#pragma once

#include "image/image_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::image {

/// What precedes an EXIF block in an APP1 marker of JPEG, and in PNG and WebP files of some programs.
inline constexpr std::string_view kExifMark{"Exif\0\0", 6};

/// What precedes a packet of XMP in an APP1 marker of JPEG (XMP specification, part 3).
inline constexpr std::string_view kXmpMark{"http://ns.adobe.com/xap/1.0/\0", 29};

/// The bytes of a text.
[[nodiscard]] std::vector<std::byte> bytes_of_text(std::string_view text);

/// Keeps the first EXIF block of a file, without the mark that some programs put before it. A further one is named as
/// lost, and so is one that is no TIFF structure, which other programs refuse.
void keep_exif(std::vector<std::byte> exif, ImageMetadata& metadata);

/// Returns the orientation tag of the first directory. It is 1 (upright) when the tag is missing or the block is
/// damaged.
[[nodiscard]] uint16_t exif_orientation(std::span<const std::byte> exif);

/// Makes a block that holds only the orientation.
[[nodiscard]] std::vector<std::byte> make_orientation_exif(uint16_t orientation);

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
