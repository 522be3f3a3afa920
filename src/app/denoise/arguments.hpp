// Declares the command-line options of `denoise` and the point settings that follow from them.
#pragma once

#include "app/commands.hpp"
#include "app/denoise/inputs.hpp"
#include "app/denoise/noise_level.hpp"
#include "config/settings.hpp"
#include "image/placed_image.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

/// Returns the defaults. Unlike in a study, halo and batch are found automatically, and there is one pass.
[[nodiscard]] config::PointSettings denoise_defaults();

/// What --verify says.
struct VerifyChoice {
    config::VerifyMode mode = config::VerifyMode::probes;
    int64_t windows = 1;     // of each image that are computed again, and places where seams are looked at
    bool is_bounded = true;  // only of as many images as Runner::bound_verification allows
};

struct DenoiseArguments {
    std::vector<std::string> paths;  // IN... OUT
    config::PointSettings settings = denoise_defaults();
    bool names_network = false;  // otherwise a weights file decides
    bool names_patch = false;    // otherwise the default is rounded up to what the network takes
    std::string clean;           // file or folder; empty: none
    std::string config;          // file whose settings hold where no option is given; empty: none
    std::string sigma = "auto", bands = "auto";
    std::string pages = "all";                      // or "0-9,20"
    std::optional<image::Compression> compression;  // none: use the input's
    VerifyChoice verify;
    bool allow_untrained = false;
    bool trusts_model = false;
    bool share_devices = false;
    bool no_clobber = false;
    bool dry_run = false;  // says what would be done, and writes nothing
    bool no_cache = false;
    bool recursive = false;
    OutputFormat format = OutputFormat::same;
    bool json = false;  // objects on standard output, and the text on stderr
};

void add_denoise_options(CLI::App& command, DenoiseArguments& arguments);

/// Reads the file of --config: what it states of the settings that have an option here holds where that option is not
/// given; other settings, as the image's, are left out. Throws UsageError with the place in the file.
void take_config(const CLI::App& command, DenoiseArguments& arguments);

/// Returns all settings except the image's path, its bands and the noise level. Throws UsageError that names the
/// option.
[[nodiscard]] config::PointSettings settings_from(const DenoiseArguments& arguments);
[[nodiscard]] DenoisePaths paths_from(const DenoiseArguments& arguments);
/// Reads "0-9,20": page numbers from 0, ascending. "all": no numbers. Throws UsageError that names the option.
[[nodiscard]] std::vector<int64_t> parse_pages(const std::string& text);
/// Returns nothing for "auto". Throws UsageError as settings_from does.
[[nodiscard]] std::optional<NoiseLevel> sigma_from(const DenoiseArguments& arguments);

}  // namespace pb::app
