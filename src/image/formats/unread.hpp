// Formats that are known by their first bytes and not read: videos, and images of microscopes, telescopes and phones.
#pragma once

#include "image/formats/random_access.hpp"

#include <string_view>

namespace pb::image {

/// Throws UsageError that names the format of a file which begins with `start`, and what makes an image of it. Returns
/// where it is none of these.
void refuse_unread(const RandomAccessFile& file, std::string_view start);

}  // namespace pb::image
