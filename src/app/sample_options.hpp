// Options of `denoise` that say what the samples of a file mean, and its noise level in their units.
#pragma once

#include "base/noise_level.hpp"
#include "config/settings.hpp"
#include "image/sample_map.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace pb {

struct SampleArguments {
    std::string range, nodata, bands = "auto";
};

void add_sample_options(CLI::App& command, SampleArguments& arguments);

/// Throws UsageError for values that are none.
void set_samples(const SampleArguments& arguments, ImageSettings& image);

/// A noise level as it was given: a share of the range of the samples, or in their units.
struct NoiseLevel {
    double value = 0;
    bool in_units = false;
};

/// "0.1" or "25/255". With a range, plain numbers are in the data's units and quotients a share of the range; without,
/// both are in [0,1]. Throws UsageError that names `option`; `or_else` ends its message.
[[nodiscard]] NoiseLevel parse_noise_level(const std::string& option, const std::string& text, bool has_range,
                                           const std::string& or_else = "");

/// `level` in [0,1] units. Throws UsageError where it is below or above what a network can be told.
[[nodiscard]] double sigma_of(const NoiseLevel& level, const SampleRange& range);

/// "range -300:4700, sigma 100 in its units (0.02 of it)"; `range` may be null.
[[nodiscard]] std::string sigma_text(double sigma, const SampleRange* range);
/// "range -300:4700"
[[nodiscard]] std::string range_text(const SampleRange& range);

}  // namespace pb
