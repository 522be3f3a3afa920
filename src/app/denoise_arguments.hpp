// What `denoise` is told on its command line, and the settings of a point that follow from it.
#pragma once

#include "app/sample_options.hpp"
#include "config/settings.hpp"
#include "image/placed_image.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb {

struct DenoiseArguments {
    std::vector<std::string> paths;  // IN... OUT
    std::string network = "dncnn", weights = "default", device = "auto", sigma = "auto", halo = "auto", batch = "auto";
    std::optional<std::string> trained_sigma;  // none: what the weights or their model card say
    std::string dtype = "fp32", threads = "auto", raw, output = "auto", compress = "auto";
    int64_t patch = 256;
    int64_t memory_limit_mib = 0;
    int64_t probes = 1;
    double add_noise = 0;
    SampleArguments samples;
    bool allow_untrained = false;
    bool share_devices = false;
    bool no_clobber = false;
};

void add_denoise_options(CLI::App& command, DenoiseArguments& arguments);

/// All but the image's path, its bands and the noise level. Throws UsageError that names the option, as the next ones.
[[nodiscard]] PointSettings settings_from(const DenoiseArguments& arguments);
/// None for auto: as the input's.
[[nodiscard]] std::optional<Compression> compression_of(const DenoiseArguments& arguments);
/// Empty: auto.
[[nodiscard]] std::optional<NoiseLevel> parse_sigma(const DenoiseArguments& arguments);

}  // namespace pb
