// Reads and makes EXIF blocks (TIFF structure, without the prefix "Exif\0\0"). Only the orientation is understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pb::image {

/// What precedes an EXIF block in an APP1 marker of JPEG, and in PNG and WebP files of some programs.
inline constexpr std::string_view kExifMark{"Exif\0\0", 6};

/// Removes the mark where a block begins with it.
[[nodiscard]] std::vector<std::byte> without_exif_mark(std::vector<std::byte> exif);

/// Returns the orientation tag of the first directory. It is 1 (upright) when the tag is missing or the block is
/// damaged.
[[nodiscard]] uint16_t exif_orientation(std::span<const std::byte> exif);

/// Makes a block that holds only the orientation.
[[nodiscard]] std::vector<std::byte> make_orientation_exif(uint16_t orientation);

}  // namespace pb::image
