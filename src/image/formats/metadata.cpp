#include "image/formats/metadata.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/random_access.hpp"

#include <array>
#include <cmath>

namespace pb::image {

namespace {

constexpr uint16_t kOrientationTag = 274;
constexpr size_t kEntryBytes = 12;

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

std::string_view text_in(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_tiff_header(std::span<const std::byte> exif) {
    constexpr size_t kHeaderBytes = 8;  // byte order, 42, place of the first directory
    const std::string_view text = text_in(exif);
    return text.size() >= kHeaderBytes && (text.starts_with({"II*\0", 4}) || text.starts_with({"MM\0*", 4}));
}

/// Bytes of a number in an EXIF block by its type: 1 BYTE, 3 SHORT, 4 LONG.
constexpr size_t bytes_of_type(uint64_t type) { return type == 4 ? 4 : type == 1 ? 1 : 2; }

}  // namespace

std::vector<std::byte> bytes_of_text(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

void keep_exif(std::vector<std::byte> exif, ImageMetadata& metadata) {
    if (text_in(exif).starts_with(kExifMark)) exif.erase(exif.begin(), exif.begin() + kExifMark.size());
    if (!has_tiff_header(exif)) return name_lost("damaged EXIF", metadata);
    if (!metadata.exif.empty()) return name_lost("a second packet of EXIF", metadata);
    metadata.exif = std::move(exif);
}

uint16_t exif_orientation(std::span<const std::byte> exif) {
    const bool big_endian = !exif.empty() && exif.front() == std::byte{'M'};
    // A number past the end is 0.
    const auto number = [&](size_t offset, size_t bytes) -> uint64_t {
        if (offset > exif.size() || bytes > exif.size() - offset) return 0;
        return number_in(exif.subspan(offset, bytes), big_endian);
    };
    const size_t directory = number(4, 4);
    const size_t entries = number(directory, 2);
    for (size_t i = 0; i < entries; ++i) {
        const size_t entry = directory + 2 + i * kEntryBytes;
        if (number(entry, 2) != kOrientationTag) continue;
        const uint64_t value = number(entry + 8, bytes_of_type(number(entry + 2, 2)));
        return value >= 1 && value <= 8 ? static_cast<uint16_t>(value) : uint16_t{1};
    }
    return 1;
}

std::vector<std::byte> make_orientation_exif(uint16_t orientation) {
    // The block has a little-endian header, one directory at byte 8 with one SHORT entry, and no second directory.
    const std::array<uint8_t, 26> block{
        'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, static_cast<uint8_t>(orientation),
        0,   0,   0,  0, 0, 0, 0};
    const auto* bytes = reinterpret_cast<const std::byte*>(block.data());
    return {bytes, bytes + block.size()};
}

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

bool is_gray_profile(const std::vector<std::byte>& profile) {
    constexpr size_t kPlace = 16;  // of the signature in the profile's header
    constexpr std::string_view kGray = "GRAY";
    const std::string_view text(reinterpret_cast<const char*>(profile.data()), profile.size());
    return text.size() > kPlace && text.substr(kPlace).starts_with(kGray);
}

}  // namespace pb::image
