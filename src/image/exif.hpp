// EXIF blocks (TIFF-structured, without "Exif\0\0"), as far as this program must understand them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pb {

/// The orientation tag of the block's first directory, 1 (upright) when there is none or the block is damaged.
[[nodiscard]] uint16_t exif_orientation(std::span<const std::byte> exif);

/// A block that says nothing but the orientation.
[[nodiscard]] std::vector<std::byte> make_orientation_exif(uint16_t orientation);

}  // namespace pb
