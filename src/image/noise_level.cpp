#include "image/noise_level.hpp"

#include "base/statistics.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace pb::image {
namespace {

/// Edge in pixels of the regions that are used or excluded as a whole. Excluding single clipped samples would cut the
/// tails of the noise distribution; excluding single equal samples would cut its centre.
constexpr int64_t kRegion = 16;

struct Region {
    std::vector<float> details;  // absolute values of the orthonormal diagonal Haar coefficients
    int64_t samples = 0;
    int64_t clipped = 0;
    bool flat = true;
};

void add_block(const PixelView& image, int64_t y, int64_t x, int64_t channel, Region& region) {
    const auto value_at = [&](int64_t row, int64_t column) {
        return reinterpret_cast<const float*>(image.row(row))[column * image.channels + channel];
    };
    const float a = value_at(y, x), b = value_at(y, x + 1), c = value_at(y + 1, x), d = value_at(y + 1, x + 1);
    for (const float v : {a, b, c, d}) region.clipped += v == 0.0F || v == 1.0F;
    region.samples += 4;
    region.flat &= a == b && b == c && c == d;
    region.details.push_back(std::abs((a - b) - (c - d)) / 2);
}

Region read_region(const PixelView& image, int64_t row, int64_t column, int64_t channel) {
    Region region;
    const int64_t last_row = std::min(row + kRegion, image.extent.h) - 1;
    const int64_t last_column = std::min(column + kRegion, image.extent.w) - 1;
    for (int64_t y = row; y < last_row; y += 2)
        for (int64_t x = column; x < last_column; x += 2) add_block(image, y, x, channel, region);
    return region;
}

/// Returns the median of the details. Details of samples with a `step` are multiples of half of it and many are equal,
/// so for these it is the median of grouped values: each detail is spread evenly over a quarter of the step on both
/// sides.
double middle_of(std::vector<float>& details, double step) {
    const auto half = static_cast<std::ptrdiff_t>(details.size() / 2);
    std::nth_element(details.begin(), details.begin() + half, details.end());
    const double middle = details[static_cast<size_t>(half)];
    if (step == 0) return middle;
    const double low = std::max(0.0, middle - step / 4);
    const double high = middle + step / 4;
    const auto below = std::ranges::count_if(details, [low](float v) { return v < low; });
    const auto inside = std::ranges::count_if(details, [low, high](float v) { return v >= low && v < high; });
    return low + (high - low) * (static_cast<double>(details.size()) / 2 - static_cast<double>(below)) /
                     static_cast<double>(inside);
}

/// True when every sample is a multiple of 1/255, and they differ.
bool has_eight_bits(const PixelView& image) {
    constexpr float kTolerance = 1e-3F;
    const float first = std::round(255.0F * floats_in(image, 0).front());
    bool differ = false;
    for (int64_t y = 0; y < image.extent.h; ++y)
        for (const float sample : floats_in(image, y)) {
            const float step = std::round(sample * 255.0F);
            if (!(std::abs(sample * 255.0F - step) < kTolerance)) return false;
            differ = differ || step != first;
        }
    return differ;
}

/// The details of a channel, grouped by the clipped share of their region. Clipping reduces the noise of the group
/// `clipped` by about 12 %.
struct Details {
    std::vector<float> clear;    // at most 5 % of the region is clipped
    std::vector<float> clipped;  // at most 20 % of the region is clipped
    bool any_worse = false;
};

Details read_details(const PixelView& image, int64_t channel) {
    Details details;
    for (int64_t y = 0; y < image.extent.h; y += kRegion)
        for (int64_t x = 0; x < image.extent.w; x += kRegion) {
            const Region region = read_region(image, y, x, channel);
            if (region.flat) continue;
            const bool worse = region.clipped * 5 > region.samples;
            details.any_worse |= worse;
            if (worse) continue;
            std::vector<float>& kept = region.clipped * 20 > region.samples ? details.clipped : details.clear;
            kept.insert(kept.end(), region.details.begin(), region.details.end());
        }
    return details;
}

/// Estimates the noise of one channel. Returns nothing when too much of every region is clipped.
std::optional<double> channel_noise(const PixelView& image, int64_t channel, double step) {
    Details details = read_details(image, channel);
    std::vector<float>& kept = details.clear.empty() ? details.clipped : details.clear;
    if (!kept.empty()) return middle_of(kept, step) / kMadToSigma;
    return details.any_worse ? std::nullopt : std::optional(0.0);
}

// Red, green and blue in brightness.
constexpr std::array kOfBrightness{0.299F, 0.587F, 0.114F};

Image brightness_of(const PixelView& image) {
    require(image.dtype == DType::f32 && image.channels == 3, "brightness is that of three channels in f32");
    Image brightness(image.extent, 1, DType::f32);
    for (int64_t y = 0; y < image.extent.h; ++y) {
        const auto* pixel = reinterpret_cast<const float*>(image.row(y));
        auto* out = reinterpret_cast<float*>(brightness.view().row(y));
        for (int64_t x = 0; x < image.extent.w; ++x, pixel += 3)
            out[x] = kOfBrightness[0] * pixel[0] + kOfBrightness[1] * pixel[1] + kOfBrightness[2] * pixel[2];
    }
    return brightness;
}

/// Nothing where it is alike, or too little beside the step of the samples to be told.
std::optional<NoiseByBrightness> unlike_noise_in(const std::optional<FlatNoise>& flat, double step) {
    constexpr double kUnlike = 1.6, kLeastSteps = 3;
    if (!flat || !flat->by_brightness) return std::nullopt;
    const auto [low, high] = std::minmax(flat->by_brightness->dark, flat->by_brightness->bright);
    return high >= kUnlike * low && high >= kLeastSteps * step ? flat->by_brightness : std::nullopt;
}

/// `flat`: noise_in_flat_regions of the image.
NoiseEstimate find_noise_of_channels(const PixelView& image, double step, const std::optional<FlatNoise>& flat) {
    NoiseEstimate found;
    found.by_brightness = unlike_noise_in(flat, has_eight_bits(image) ? std::max(step, kStepOf8Bits) : step);
    found.finest = found.sigma = estimate_noise(image, step);
    if (const auto coarse = smooth_noise_in(flat, std::max(step, kStepOf8Bits)))
        found.sigma = std::max(found.sigma, *coarse);
    return found;
}

/// The share of independent noise of equal level in red, green and blue that brightness has.
const double kShareOfBrightness = std::hypot(kOfBrightness[0], kOfBrightness[1], kOfBrightness[2]);

/// Whether the noise of red, green and blue is visible and more or less equal, at full or half the resolution. Takes
/// noise_in_flat_regions of the three, and of brightness.
bool is_grey(const std::optional<FlatNoise>& of_channels, const std::optional<FlatNoise>& of_brightness) {
    constexpr double kVisible = 0.03, kLeastRise = 1.25;
    const auto at = [&](size_t scale) {
        const double level = of_brightness->levels[scale] / kShareOfBrightness;
        return level >= kVisible && level >= kLeastRise * of_channels->levels[scale];
    };
    return of_channels && of_brightness && (at(0) || at(1));
}

}  // namespace

double estimate_noise(const PixelView& image, double step) {
    require(image.dtype == DType::f32, "the noise level is estimated from f32 images");
    require(image.extent.h >= 2 && image.extent.w >= 2, "the noise of an image of less than 2 x 2 pixels is unknown");
    if (has_eight_bits(image)) step = std::max(step, kStepOf8Bits);
    std::vector<double> levels;
    for (int64_t channel = 0; channel < image.channels; ++channel)
        if (const auto level = channel_noise(image, channel, step)) levels.push_back(*level);
    if (levels.empty())
        throw UsageError(
            "the noise cannot be estimated: more than a fifth of the samples are clipped (black or white) "
            "everywhere in the image; give sigma");
    return median(levels);
}

Rect noise_region(const Extent& extent) {
    constexpr int64_t kEdge = 2048;
    return centre_of(extent, {std::min(kEdge, extent.h), std::min(kEdge, extent.w)});
}

NoiseEstimate find_noise(const PixelView& image, double step, bool lossy_colours) {
    const bool has_colours = image.channels == 3;
    const Image brightness = has_colours ? brightness_of(image) : Image();
    const auto flat_brightness = has_colours ? noise_in_flat_regions(brightness.view()) : std::nullopt;
    if (has_colours && lossy_colours) {
        NoiseEstimate found = find_noise_of_channels(brightness.view(), 0, flat_brightness);
        found.sigma /= kShareOfBrightness;
        found.finest /= kShareOfBrightness;
        if (found.by_brightness)
            found.by_brightness = {found.by_brightness->dark / kShareOfBrightness,
                                   found.by_brightness->bright / kShareOfBrightness};
        return found;
    }
    const auto flat = noise_in_flat_regions(image);
    NoiseEstimate found = find_noise_of_channels(image, step, flat);
    if (!is_grey(flat, flat_brightness)) return found;
    const auto smooth = smooth_noise_in(flat_brightness, std::max(step, kStepOf8Bits));
    found.is_grey = true;
    found.finest = std::max(found.finest, flat_brightness->levels.front() / kShareOfBrightness);
    found.sigma = std::max({found.sigma, found.finest, smooth.value_or(0) / kShareOfBrightness});
    return found;
}

}  // namespace pb::image
