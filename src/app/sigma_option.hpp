// The option --sigma of `denoise`: a noise level in [0,1], or in the units of the samples where --range says them.
#pragma once

#include "image/sample_map.hpp"

#include <string>

namespace pb {

/// A noise level as it was given: a share of the range of the samples, or in their units.
struct NoiseLevel {
    double value = 0;
    bool in_units = false;
};

/// "0.1" or "25/255". With a range, plain numbers are in the data's units and quotients a share of the range; without,
/// both are in [0,1]. Throws UsageError that names the option.
[[nodiscard]] NoiseLevel parse_sigma(const std::string& text, bool has_range);

/// `level` in [0,1] units. Throws UsageError where it is below or above what a network can be told.
[[nodiscard]] double sigma_of(const NoiseLevel& level, const SampleRange& range);

/// "range -300:4700, sigma 100 in its units (0.02 of it)"; `range` may be null.
[[nodiscard]] std::string sigma_text(double sigma, const SampleRange* range);
/// "range -300:4700"
[[nodiscard]] std::string range_text(const SampleRange& range);

}  // namespace pb
