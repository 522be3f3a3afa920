#include "app/sample_options.hpp"

#include "config/sample_settings.hpp"
#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb {

void add_sample_options(CLI::App& command, SampleArguments& arguments) {
    command.add_option("--range", arguments.range,
                       "sample values that are 0 and 1 to the network: auto (percentiles of the image) or LO:HI, as "
                       "--range=-300:4700; --sigma is then in the samples' units");
    command.add_option("--nodata", arguments.nodata,
                       "sample value that is no data and is kept, as --nodata=-9999; none: do not mind what the file "
                       "says (tag GDAL_NODATA)");
    command.add_option(
        "--bands", arguments.bands,
        "1 | 3 | auto: take all channels, alpha too, for bands and denoise each by itself or groups of 3 "
        "(the last ones may overlap); auto: what the weights are for, where there are more than 4");
}

void set_samples(const SampleArguments& arguments, ImageSettings& image) {
    (void)parse_range(arguments.range);
    (void)parse_nodata(arguments.nodata);
    if (arguments.bands != "auto" && arguments.bands != "1" && arguments.bands != "3")
        throw UsageError("--bands " + arguments.bands + ": must be 1, 3 or auto");
    image.range = arguments.range;
    image.nodata = arguments.nodata;
}

NoiseLevel parse_noise_level(const std::string& option, const std::string& text, bool has_range,
                             const std::string& or_else) {
    const size_t slash = text.find('/');
    double value = 0, divisor = 1;
    try {
        parse_setting(text.substr(0, slash), value);
        if (slash != std::string::npos) parse_setting(text.substr(slash + 1), divisor);
    } catch (const UsageError&) {
        value = -1;
    }
    const bool in_units = has_range && slash == std::string::npos;
    const double level = value / divisor;
    const bool is_legal = in_units ? level > 0 && std::isfinite(level) : level >= kSmallestSigma && level <= 1;
    if (is_legal) return {level, in_units};
    if (in_units)
        throw UsageError(option + " " + text + ": must be a noise level in the samples' units, as --range is" +
                         or_else);
    throw UsageError(option + " " + text + ": must be a noise level from 0.0001 to 1, as 0.1 or 25/255" + or_else);
}

double sigma_of(const NoiseLevel& level, const SampleRange& range) {
    if (!level.in_units) return level.value;
    const double sigma = level.value / range.width();
    if (sigma >= kSmallestSigma && sigma <= 1) return sigma;
    throw UsageError(fmt::format(
        "--sigma {:g}: with --range it is in the samples' units, where {} makes it {:.3g}; must be 0.0001 to 1 of the "
        "range",
        level.value, range_text(range), sigma));
}

std::string range_text(const SampleRange& range) { return fmt::format("range {:.6g}:{:.6g}", range.low, range.high); }

std::string sigma_text(double sigma, const SampleRange* range) {
    if (range == nullptr) return fmt::format("sigma {:.4g}", sigma);
    return fmt::format("{}, sigma {:.4g} in its units ({:.4g} of it)", range_text(*range), sigma * range->width(),
                       sigma);
}

}  // namespace pb
