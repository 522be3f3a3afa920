// What `denoise` is told on its command line, and the settings of a point that follow from it.
#pragma once

#include "app/sigma_option.hpp"
#include "config/settings.hpp"
#include "image/placed_image.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pb {

/// Where `denoise` differs from a study: halo and batch are found, and there is one pass.
[[nodiscard]] PointSettings denoise_defaults();

struct DenoiseArguments {
    std::vector<std::string> paths;  // IN... OUT
    PointSettings settings = denoise_defaults();
    std::string sigma = "auto", bands = "auto";
    std::optional<Compression> compression;  // none: as the input's
    int64_t probes = 1;
    bool allow_untrained = false;
    bool share_devices = false;
    bool no_clobber = false;
};

void add_denoise_options(CLI::App& command, DenoiseArguments& arguments);

/// All but the image's path, its bands and the noise level. Throws UsageError that names the option, as the next one.
[[nodiscard]] PointSettings settings_from(const DenoiseArguments& arguments);
/// Empty: auto.
[[nodiscard]] std::optional<NoiseLevel> sigma_from(const DenoiseArguments& arguments);

}  // namespace pb
