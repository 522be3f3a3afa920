// ImageJ's description of a stack, in the tag ImageDescription of its first page: "ImageJ=1.54f", then lines
// "key=value" (images, channels, slices, frames, unit, spacing, finterval, min, max, ..).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::image {

[[nodiscard]] inline bool is_imagej_text(std::string_view description) { return description.starts_with("ImageJ="); }

/// The number of images that the description states, or 1.
[[nodiscard]] int64_t images_in_imagej_text(std::string_view description);

struct PartOfStack {
    std::string description;
    std::vector<std::string> lost;  // keys of the lines that do not hold for it
};

/// The description of the pages with these numbers (from 0, ascending) of the stack that `description` is of. A stack
/// along one axis stays one. Its spacing, or time between frames, is kept where the pages follow each other.
[[nodiscard]] PartOfStack describe_part(std::string_view description, std::span<const int64_t> pages);

}  // namespace pb::image
