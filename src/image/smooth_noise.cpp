#include "base/mapped.hpp"
#include "base/statistics.hpp"
#include "image/noise_level.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace pb::image {

namespace {

constexpr size_t kScales = std::tuple_size_v<NoiseLevels>;
constexpr int64_t kFlatRegion = 32;  // edge in pixels

/// One channel, by rows without gaps.
struct Plane {
    int64_t height = 0, width = 0;
    std::vector<float> samples;

    [[nodiscard]] float at(int64_t y, int64_t x) const { return samples[static_cast<size_t>(y * width + x)]; }
};

Plane plane_of(const PixelView& image, int64_t channel) {
    Plane plane{image.extent.h, image.extent.w, {}};
    plane.samples.reserve(static_cast<size_t>(image.extent.pixels()));
    for (int64_t y = 0; y < plane.height; ++y) {
        const auto row = floats_in(image, y);
        for (int64_t x = 0; x < plane.width; ++x)
            plane.samples.push_back(row[static_cast<size_t>(x * image.channels + channel)]);
    }
    return plane;
}

/// The means of blocks of 2 x 2 samples.
Plane half_of(const Plane& plane) {
    Plane half{plane.height / 2, plane.width / 2, {}};
    half.samples.reserve(static_cast<size_t>(half.height * half.width));
    for (int64_t y = 0; y + 1 < plane.height; y += 2)
        for (int64_t x = 0; x + 1 < plane.width; x += 2)
            half.samples.push_back((plane.at(y, x) + plane.at(y, x + 1) + plane.at(y + 1, x) + plane.at(y + 1, x + 1)) /
                                   4);
    return half;
}

/// Median of the absolute diagonal Haar coefficients of a region of `edge` x `edge` samples, as a standard deviation.
double detail_in(const Plane& plane, int64_t top, int64_t left, int64_t edge) {
    std::vector<float> details;
    details.reserve(static_cast<size_t>(edge * edge / 4));
    for (int64_t y = top; y < top + edge; y += 2)
        for (int64_t x = left; x < left + edge; x += 2)
            details.push_back(
                std::abs(plane.at(y, x) - plane.at(y, x + 1) - plane.at(y + 1, x) + plane.at(y + 1, x + 1)) / 2);
    const auto middle = details.begin() + static_cast<std::ptrdiff_t>(details.size() / 2);
    std::ranges::nth_element(details, middle);
    return *middle / kMadToSigma;
}

bool is_clipped(const Plane& plane, int64_t top, int64_t left) {
    int64_t clipped = 0;
    for (int64_t y = top; y < top + kFlatRegion; ++y)
        for (int64_t x = left; x < left + kFlatRegion; ++x)
            clipped += plane.at(y, x) <= 0 || plane.at(y, x) >= 1 ? 1 : 0;
    return 20 * clipped > kFlatRegion * kFlatRegion;
}

struct FlatRegion {
    double brightness = 0;  // mean
    NoiseLevels levels{};

    /// Noise alone has as much detail at each scale, where few details tell less.
    [[nodiscard]] bool has_structure() const {
        constexpr std::array<double, kScales> kMost{1, 1.3, 1.5}, kLeast{1, 0.75, 0.6};
        for (size_t i = 1; i < kScales; ++i)
            if (levels[i] > kMost[i] * levels[0] || levels[i] < kLeast[i] * levels[0]) return true;
        return false;
    }
};

double mean_of(const Plane& plane, int64_t top, int64_t left) {
    double sum = 0;
    for (int64_t y = top; y < top + kFlatRegion; ++y)
        for (int64_t x = left; x < left + kFlatRegion; ++x) sum += plane.at(y, x);
    return sum / static_cast<double>(kFlatRegion * kFlatRegion);
}

std::vector<FlatRegion> regions_of(Plane plane) {
    std::array<Plane, kScales> scales;
    scales[0] = std::move(plane);
    for (size_t i = 1; i < kScales; ++i) scales[i] = half_of(scales[i - 1]);
    std::vector<FlatRegion> regions;
    for (int64_t y = 0; y + kFlatRegion <= scales[0].height; y += kFlatRegion)
        for (int64_t x = 0; x + kFlatRegion <= scales[0].width; x += kFlatRegion) {
            if (is_clipped(scales[0], y, x)) continue;
            FlatRegion region{.brightness = mean_of(scales[0], y, x)};
            for (size_t i = 0; i < kScales; ++i) {
                const int64_t size = int64_t{1} << i;
                region.levels[i] =
                    static_cast<double>(size) * detail_in(scales[i], y / size, x / size, kFlatRegion / size);
            }
            if (region.levels[0] == 0 && region.levels[1] == 0) continue;  // no noise at all: a gap, or a drawing
            regions.push_back(region);
        }
    return regions;
}

/// The noise in flat regions of one channel.
std::optional<NoiseLevels> levels_in(const std::vector<FlatRegion>& regions) {
    // White noise of level 1: a fifth of the regions has less than this, with 256, 64 and 16 details a region.
    constexpr NoiseLevels kOfWhiteNoise{0.9405, 0.8826, 0.7912};
    constexpr size_t kFewest = 9;
    if (regions.size() < kFewest) return std::nullopt;
    NoiseLevels levels{};
    for (size_t i = 0; i < kScales; ++i) {
        std::vector<double> found = mapped(regions, [&](const FlatRegion& region) { return region.levels[i]; });
        const auto fifth = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 5);
        std::ranges::nth_element(found, fifth);
        levels[i] = *fifth / kOfWhiteNoise[i];
    }
    return levels;
}

std::optional<NoiseByBrightness> noise_by_brightness(std::vector<FlatRegion> regions) {
    constexpr std::ptrdiff_t kFewest = 24;
    std::erase_if(regions, [](const FlatRegion& region) { return region.has_structure(); });
    if (std::ssize(regions) < kFewest) return std::nullopt;
    std::ranges::sort(regions, {}, &FlatRegion::brightness);
    // Fine texture adds to what some of them have: a quarter has less than this.
    const auto level_of = [](std::span<FlatRegion> quarter) {
        const auto fourth = quarter.begin() + std::ssize(quarter) / 4;
        std::ranges::nth_element(quarter, fourth, {}, [](const FlatRegion& region) { return region.levels[0]; });
        return fourth->levels[0];
    };
    const std::span all(regions);
    return NoiseByBrightness{level_of(all.first(all.size() / 4)), level_of(all.last(all.size() / 4))};
}

double ratio_of(const NoiseByBrightness& noise) { return noise.dark > 0 ? noise.bright / noise.dark : 1; }

}  // namespace

std::optional<FlatNoise> noise_in_flat_regions(const PixelView& image) {
    std::array<std::vector<double>, kScales> of_channels;
    std::vector<NoiseByBrightness> by_brightness;
    for (int64_t channel = 0; channel < image.channels; ++channel) {
        std::vector<FlatRegion> regions = regions_of(plane_of(image, channel));
        if (const auto levels = levels_in(regions))
            for (size_t i = 0; i < kScales; ++i) of_channels[i].push_back((*levels)[i]);
        if (const auto noise = noise_by_brightness(std::move(regions))) by_brightness.push_back(*noise);
    }
    if (of_channels[0].empty()) return std::nullopt;
    FlatNoise flat{{median(of_channels[0]), median(of_channels[1]), median(of_channels[2])}, std::nullopt};
    if (by_brightness.empty()) return flat;
    const auto middle = by_brightness.begin() + std::ssize(by_brightness) / 2;
    std::ranges::nth_element(by_brightness, middle, {}, ratio_of);
    flat.by_brightness = *middle;
    return flat;
}

std::optional<double> estimate_smooth_noise(const PixelView& image, double least) {
    return smooth_noise_in(noise_in_flat_regions(image), least);
}

std::optional<double> smooth_noise_in(const std::optional<FlatNoise>& flat, double least) {
    constexpr double kLeastRise = 2.3, kMostRise = 1.9;  // to half, and from half to a quarter of the resolution
    if (!flat) return std::nullopt;
    const auto [finest, half, quarter] = flat->levels;
    if (half <= std::max(least, kLeastRise * finest) || quarter >= kMostRise * half) return std::nullopt;
    return half;
}

}  // namespace pb::image
