#include "app/denoise/noise_level.hpp"

#include "base/text.hpp"
#include "config/sample_settings.hpp"
#include "config/text.hpp"
#include "image/quality.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::app {

NoiseLevel parse_sigma(const std::string& text, bool has_range) {
    const bool in_units = has_range && text.find('/') == std::string::npos;
    double level = -1;
    const bool is_number = config::reads_as(text, level);
    if (is_number && (in_units ? level > 0 : level >= network::kSmallestSigma && level <= 1)) return {level, in_units};
    throw UsageError(fmt::format(
        "--sigma {}: must be a noise level {}", text,
        in_units    ? "in the samples' units, as --range is, or auto"
        : has_range ? "from 0.0001 to 1, as 0.1 or 25/255, or auto"
                    : "from 0.0001 to 1, as 0.1 or 25/255, or auto; with --range it is in the samples' units"));
}

double sigma_of(const NoiseLevel& level, const image::SampleRange& range) {
    if (!level.in_units) return level.value;
    const double sigma = level.value / range.width();
    if (sigma >= network::kSmallestSigma && sigma <= 1) return sigma;
    throw UsageError(fmt::format(
        "--sigma {:g}: with --range it is in the samples' units, where {} makes it {:.3g}; must be 0.0001 to 1 of the "
        "range{}",
        level.value, range_text(range), sigma,
        level.value <= 1 ? fmt::format("; a share of it is written as {:g}/1", level.value) : ""));
}

std::optional<image::SampleRange> fixed_range(const config::ImageSettings& image) {
    const config::RangeChoice choice = config::parse_range(image.range);
    if (choice.kind != config::RangeChoice::Kind::fixed) return std::nullopt;
    return image::SampleRange{choice.low, choice.high};
}

std::string range_text(const image::SampleRange& range) {
    return fmt::format("range {:.6g}:{:.6g}", range.low, range.high);
}

std::string sigma_text(double sigma, const image::SampleRange* range) {
    if (range == nullptr) return fmt::format("sigma {:.4g}", sigma);
    return fmt::format("{}, sigma {:.4g} in its units ({:.4g} of it)", range_text(*range), sigma * range->width(),
                       sigma);
}

namespace {

image::SampleRange range_of(const PixelView& image) {
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    image::SampleRange range{kEndless, -kEndless};
    for (int64_t y = 0; y < image.extent.h; ++y) {
        const auto* row = reinterpret_cast<const float*>(image.row(y));
        const auto [low, high] = std::minmax_element(row, row + image.extent.w * image.channels);
        range = {std::min<double>(range.low, *low), std::max<double>(range.high, *high)};
    }
    return range;
}

constexpr int64_t kFull = 65535;
constexpr int kMostUsualBits = 14;

int64_t highest_of(int bits) { return (int64_t{1} << bits) - 1; }

RangeFit fit_of_16_bits(const image::SampleRange& unit) {
    const image::SampleRange samples{std::round(kFull * unit.low), std::round(kFull * unit.high)};
    const bool is_low = samples.high <= static_cast<double>(highest_of(kMostUsualBits));
    return {is_low ? RangeFit::Kind::low : RangeFit::Kind::good, samples};
}

RangeFit fit_of_given(const image::SampleRange& unit, const image::SampleRange& given) {
    constexpr double kTiny = 1e-3;
    const auto sample_of = [&](double level) { return given.low + level * given.width(); };
    const bool is_tiny = unit.width() > 0 && unit.width() < kTiny;
    return {is_tiny ? RangeFit::Kind::tiny : RangeFit::Kind::good, {sample_of(unit.low), sample_of(unit.high)}};
}

/// Names the range of the fewest bits that cameras have, of those that hold the highest sample. An empty image says
/// nothing about its range.
std::string low_note(double highest) {
    if (highest == 0) return "";
    int bits = 8;
    while (highest > static_cast<double>(highest_of(bits)) && bits < kMostUsualBits) bits += 2;
    return fmt::format("samples up to {:.0f} of {}: --range 0:{} (if they have {} bits) or --range auto maps them",
                       highest, kFull, highest_of(bits), bits);
}

}  // namespace

std::string RangeFit::note() const {
    if (kind == Kind::low) return low_note(samples.high);
    if (kind == Kind::good) return "";
    if (kind == Kind::tiny)
        return fmt::format(
            "samples from {:.4g} to {:.4g} use less than a thousandth of the range: is it in their units?", samples.low,
            samples.high);
    return fmt::format(
        "samples from {:.4g} to {:.4g}, where [0, 1] is expected: --range auto or --range=LO:HI maps them", samples.low,
        samples.high);
}

RangeFit fit_range(const config::ImageSettings& image, run::ImageSource& source) {
    const DType type = source.file()->info().dtype;
    const auto given = fixed_range(image);
    if ((!image.range.empty() && !given) || (!given && !is_float(type) && type != DType::u16)) return {};
    const Rect centre = image::noise_region(source.extent());
    image::Image unit = source.read_unit(centre);
    if (given || type == DType::u16) source.blank_gaps(centre, {&unit});
    const image::SampleRange range = range_of(unit.view());
    if (given) return fit_of_given(range, *given);
    if (type == DType::u16) return fit_of_16_bits(range);
    const bool fits = range.low >= image::kFarBelow && range.high <= image::kFarAbove;
    return {fits ? RangeFit::Kind::good : RangeFit::Kind::beyond, range};
}

bool has_room_for_noise(Extent image) {
    const Extent centre = image::noise_region(image).extent;
    return centre.h >= 2 && centre.w >= 2;
}

image::NoiseEstimate estimate_sigma(const config::ImageSettings& image, run::ImageSource& source, const RangeFit& fit) {
    if (fit.is_beyond()) throw UsageError(image.path + ": " + fit.note());
    const Rect centre = image::noise_region(source.extent());
    if (!has_room_for_noise(source.extent()))
        throw UsageError(image.path + ": too small for --sigma auto (it needs 2 x 2 pixels); give --sigma");
    if (source.count_gaps(centre) == centre.extent.pixels() * source.channels())
        throw UsageError(image.path + ": its centre has no data to find the noise in; give --sigma");
    const image::Image noisy = source.read_noisy(centre);
    const image::NoiseEstimate noise = [&] {
        try {
            return image::find_noise(noisy.view(), source.sample_step(), source.file()->has_lossy_colours());
        } catch (const UsageError& error) {
            throw UsageError(image.path + ": " + error.what());
        }
    }();
    if (noise.sigma > 1)
        throw UsageError(image.path +
                         fmt::format(": its noise seems to be {:.4g}, more than 1; give --sigma", noise.sigma));
    return noise;
}

std::string noise_note(const config::ImageSettings& image, const image::NoiseEstimate& noise, const RangeFit& fit) {
    const bool is_in_a_part = fit.kind == RangeFit::Kind::low || fit.kind == RangeFit::Kind::tiny;
    if (is_in_a_part && noise.sigma > 0 && noise.sigma < network::kSmallestSigma)
        return fmt::format(
            "the noise is about {:.2g} of the range, and networks are told {} at least: too much is smoothed away; "
            "--range auto or --range=LO:HI maps the samples",
            noise.sigma, network::kSmallestSigma);
    const char* const grey = noise.is_grey
                                 ? "the noise is alike in red, green and blue, which a network for colours does not "
                                   "expect: sigma is up to half as much again (--sigma states another level)"
                                 : "";
    const auto range = fixed_range(image);
    const double unit = range ? range->width() : 1;
    std::string notes = grey;
    if (noise.by_brightness)
        add_item(
            notes,
            fmt::format("the noise differs with brightness: about {:.3g} in dark and {:.3g} in bright regions; sigma "
                        "is one level for all, so noise stays where it is higher (--sigma states another level)",
                        noise.by_brightness->dark * unit, noise.by_brightness->bright * unit),
            "; note: ");
    if (noise.sigma > noise.finest)
        add_item(
            notes,
            fmt::format("the noise seems to be smooth from pixel to pixel, as that of a camera or an enlarged image: "
                        "sigma is that at half the resolution ({:.4g} in the finest detail; --sigma if that is right)",
                        noise.finest * unit),
            "; note: ");
    return notes;
}

std::string level_note(const config::ImageSettings& image, run::ImageSource& source, double sigma) {
    constexpr double kFar = 3;
    constexpr double kSmall = 2.0 / 255;  // hardly visible, whichever it is
    double found = 0;
    try {
        const image::NoiseEstimate noise = estimate_sigma(image, source, {});
        found = noise.sigma;
        if (const auto& levels = noise.by_brightness)
            found = std::clamp(sigma, std::min({found, levels->dark, levels->bright}),
                               std::max({found, levels->dark, levels->bright}));
    } catch (const UsageError&) {
        return "";
    }
    const auto [low, high] = std::minmax(found, sigma);
    if (high <= kFar * low || high <= kSmall) return "";
    const auto range = fixed_range(image);
    const std::string levels =
        range ? fmt::format("{:.4g}, not {:.4g}, in the samples' units", found * range->width(), sigma * range->width())
              : fmt::format("{:.2g}, not {:.2g}", found, sigma);
    return fmt::format("the noise seems to be about {}: {} (--sigma auto estimates it)", levels,
                       sigma > found ? "details may be smoothed away" : "noise may stay");
}

}  // namespace pb::app
