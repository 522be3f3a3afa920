#include "image/formats/resolution.hpp"

#include <cmath>

namespace pb::image {
namespace {

constexpr double kInch = 0.0254, kCentimetre = 0.01;  // metres

std::optional<uint16_t> whole_dots(double dots) {
    const double whole = std::round(dots);
    return whole >= 1 && whole <= UINT16_MAX ? std::optional(static_cast<uint16_t>(whole)) : std::nullopt;
}

std::optional<JpegDensity> density_in(bool per_inch, double x_per_m, double y_per_m) {
    const double unit_m = per_inch ? kInch : kCentimetre;
    const auto x = whole_dots(x_per_m * unit_m), y = whole_dots(y_per_m * unit_m);
    return x && y ? std::optional(JpegDensity{per_inch, *x, *y}) : std::nullopt;
}

/// How far a resolution in whole dots per inch or per centimetre is from `per_m`, in dots.
double rounding_of(double per_m, double unit_m) { return std::abs(per_m * unit_m - std::round(per_m * unit_m)); }

}  // namespace

std::optional<JpegDensity> jpeg_density(const ImageMetadata& metadata) {
    const double x = metadata.x_resolution_per_m.value_or(0), y = metadata.y_resolution_per_m.value_or(0);
    const bool prefers_inch = rounding_of(x, kInch) <= rounding_of(x, kCentimetre) + 0.01;
    const auto preferred = density_in(prefers_inch, x, y);
    return preferred ? preferred : density_in(!prefers_inch, x, y);
}

std::optional<DotsPerMetre> dots_per_metre(const ImageMetadata& metadata) {
    const double x = std::round(metadata.x_resolution_per_m.value_or(0));
    const double y = std::round(metadata.y_resolution_per_m.value_or(0));
    constexpr double kMost = INT32_MAX;
    if (!(x >= 1 && x <= kMost && y >= 1 && y <= kMost)) return std::nullopt;
    return DotsPerMetre{static_cast<uint32_t>(x), static_cast<uint32_t>(y)};
}

}  // namespace pb::image
