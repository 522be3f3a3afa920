// Damage in Deflate blocks of a TIFF that libtiff does not report: it stops when it has all samples, and then neither
// looks at the rest of the block nor at its checksum.
#pragma once

#include "image/random_access.hpp"

#include <tiffio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pb::image {

/// Returns what is wrong with strip or tile `block`, from which libtiff made `decoded`. Empty when its checksum fits,
/// and for other compressions. A block that holds more samples than needed is fine; so is one without its end.
[[nodiscard]] std::string find_deflate_fault(TIFF* tiff, uint32_t block, std::span<const std::byte> decoded,
                                             const RandomAccessFile& file);

}  // namespace pb::image
