// The noise that was added, judged by what it did to the samples: its mean and its standard deviation, estimated from
// the noisy image that the network saw and the clean one.
#pragma once

#include "run/pixels/window_source.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Mean and standard deviation of the noise in `parts` against 0 and `sigma` ([0,1] units), each within five standard
/// errors of such an estimate; what is wrong, or none. `parts` lie inside the image.
[[nodiscard]] std::optional<std::string> find_wrong_noise(WindowSource& noisy, ImageSource& clean,
                                                          const std::vector<Rect>& parts, double sigma);

}  // namespace pb
