// What `denoise` learns of an image file from its central part, of at most 2048 pixels a side, before it works on it.
#pragma once

#include "config/settings.hpp"
#include "run/pixels/image_source.hpp"

#include <string>

namespace pb {

/// Which samples a float file holds, where they lie so far outside [0,1] that no noise can have taken them there;
/// otherwise empty.
[[nodiscard]] std::string range_note(const ImageSettings& image, ImageSource& source);

/// Standard deviation of the noise, in [0,1]. Throws UsageError with the file's name where it cannot be told, as where
/// `note`, its range_note(), is not empty.
[[nodiscard]] double estimate_sigma(const ImageSettings& image, ImageSource& source, const std::string& note);

}  // namespace pb
