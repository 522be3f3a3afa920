// Examines the central part of an image file, at most 2048 pixels a side, before `denoise` works on it.
#pragma once

#include "config/settings.hpp"
#include "run/pixels/image_source.hpp"

#include <string>

namespace pb::app {

/// Describes the samples of a float file when they lie so far outside [0,1] that noise cannot explain it; otherwise
/// empty.
[[nodiscard]] std::string range_note(const config::ImageSettings& image, run::ImageSource& source);

/// Returns the standard deviation of the noise, in [0,1]. Throws UsageError with the file's name when it cannot be
/// estimated, for example when `note`, the range_note() of the file, is not empty.
[[nodiscard]] double estimate_sigma(const config::ImageSettings& image, run::ImageSource& source,
                                    const std::string& note);

}  // namespace pb::app
