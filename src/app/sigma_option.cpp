#include "app/sigma_option.hpp"

#include "base/noise_level.hpp"
#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

namespace pb::app {

NoiseLevel parse_sigma(const std::string& text, bool has_range) {
    const bool in_units = has_range && text.find('/') == std::string::npos;
    double level = -1;
    try {
        config::parse_setting(text, level);
    } catch (const UsageError&) {
        level = -1;
    }
    if (in_units ? level > 0 : level >= kSmallestSigma && level <= 1) return {level, in_units};
    throw UsageError(fmt::format(
        "--sigma {}: must be a noise level {}", text,
        in_units    ? "in the samples' units, as --range is, or auto"
        : has_range ? "from 0.0001 to 1, as 0.1 or 25/255, or auto"
                    : "from 0.0001 to 1, as 0.1 or 25/255, or auto; with --range it is in the samples' units"));
}

double sigma_of(const NoiseLevel& level, const image::SampleRange& range) {
    if (!level.in_units) return level.value;
    const double sigma = level.value / range.width();
    if (sigma >= kSmallestSigma && sigma <= 1) return sigma;
    throw UsageError(fmt::format(
        "--sigma {:g}: with --range it is in the samples' units, where {} makes it {:.3g}; must be 0.0001 to 1 of the "
        "range",
        level.value, range_text(range), sigma));
}

std::string range_setting(const image::SampleRange& range) {
    return config::format_setting(range.low) + ":" + config::format_setting(range.high);
}

std::string range_text(const image::SampleRange& range) {
    return fmt::format("range {:.6g}:{:.6g}", range.low, range.high);
}

std::string sigma_text(double sigma, const image::SampleRange* range) {
    if (range == nullptr) return fmt::format("sigma {:.4g}", sigma);
    return fmt::format("{}, sigma {:.4g} in its units ({:.4g} of it)", range_text(*range), sigma * range->width(),
                       sigma);
}

}  // namespace pb::app
