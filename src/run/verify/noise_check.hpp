// Checks the added noise: estimates its mean and standard deviation from the clean image and the noisy image that the
// network received.
#pragma once

#include "run/pixels/slab.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::run {

/// Compares mean and standard deviation of the noise in `parts` with 0 and `sigma` ([0,1] units). Each must be within
/// five standard errors of its estimate. Returns what is wrong, or nothing. `parts` must lie inside the image.
[[nodiscard]] std::optional<std::string> find_wrong_noise(WindowSource& noisy, ImageSource& clean,
                                                          const std::vector<Rect>& parts, double sigma);

}  // namespace pb::run
