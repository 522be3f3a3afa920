#include "image/formats/metadata.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/random_access.hpp"
#include "image/tiff/tags.hpp"
#include "image/tiff/write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

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

using Names = std::vector<std::string>;

/// A file may have any number of names.
void add_once(std::string name, Names& names) {
    constexpr size_t kMost = 100;
    if (names.size() > kMost) return;
    if (std::ranges::find(names, name) != names.end()) return;
    names.push_back(names.size() < kMost ? std::move(name) : "and others");
}

Names names_of(const std::vector<TiffTag>& tags) {
    Names names;
    for (const TiffTag& tag : tags) add_once(tiff_tag_name(tag.number), names);
    return names;
}

/// Whether the resolution fits into `file`, which is no TIFF.
bool keeps_resolution(const ImageMetadata& metadata, const std::filesystem::path& file) {
    const std::string extension = extension_of(file);
    if (extension == ".npy" || extension == ".raw" || extension == ".webp") return false;
    return is_lossy(file) ? jpeg_density(metadata).has_value() : dots_per_metre(metadata).has_value();
}

/// Whether a format has a place for EXIF and XMP.
bool holds_packets(std::string_view extension) {
    return extension != ".npy" && extension != ".raw" && extension != ".bmp";
}

bool is_of_format(const FormatBlock& block, const std::filesystem::path& file) {
    return is_lossy(file) ? block.extension == ".jpg" : block.extension == extension_of(file);
}

/// Adds the TIFF tags to `lost`, with a remark where only TIFF can hold them.
void add_tiff_tags(const ImageMetadata& metadata, Names& lost) {
    Names names = names_of(metadata.tiff_tags);
    if (names.empty()) return;
    names.back() += " (only .tif holds them)";
    std::move(names.begin(), names.end(), std::back_inserter(lost));
}

void add_lost_in_tiff(const ImageMetadata& metadata, bool placed, Names& lost) {
    const auto& exif = metadata.exif;
    if (!exif.empty() && exif != make_orientation_exif(exif_orientation(exif)))
        lost.emplace_back("EXIF but its orientation");
    if (placed && metadata.tiff_tile && *metadata.tiff_tile != Extent{kTiffTile, kTiffTile})
        lost.emplace_back("size of its tiles");
    const uint16_t compression = metadata.tiff_compression;
    if (compression == COMPRESSION_NONE) return;
    if (!can_compress_again(compression))
        lost.push_back(compression_name(compression));
    else if (placed)
        lost.push_back(compression_name(compression) + " (--compress makes such a file)");
}

/// What is said of EXIF that is lost where it had an orientation.
std::string orientation_remark(const ImageMetadata& metadata) {
    return exif_orientation(metadata.exif) == 1 ? "" : ", with its orientation";
}

void add_too_large_for_jpeg(const ImageMetadata& metadata, Names& lost) {
    if (metadata.icc_profile.size() > kMostProfileInJpeg) lost.emplace_back("colour profile of more than 16.7 MB");
    if (metadata.exif.size() > kMostExifInJpeg)
        lost.push_back("EXIF of more than 64 KB" + orientation_remark(metadata));
    if (metadata.xmp.size() > kMostXmpInJpeg) lost.emplace_back("XMP of more than 64 KB");
}

void add_too_large_for_png(const ImageMetadata& metadata, Names& lost) {
    if (metadata.icc_profile.size() > kMostProfileInPng) lost.emplace_back("colour profile of more than 7.99 MB");
    if (metadata.exif.size() > kMostExifInPng) lost.push_back("EXIF of more than 8 MB" + orientation_remark(metadata));
    if (metadata.xmp.size() > kMostXmpInPng) lost.emplace_back("XMP of more than 8 MB");
}

/// Moves the tags for which `is_bound` holds to the list of metadata that is not kept, with a remark.
ImageMetadata without_tags(ImageMetadata metadata, bool (*is_bound)(const TiffTag&), const char* remark) {
    std::vector<TiffTag> bound;
    auto& tags = metadata.tiff_tags;
    std::copy_if(tags.begin(), tags.end(), std::back_inserter(bound), is_bound);
    std::erase_if(tags, is_bound);
    for (const std::string& name : names_of(bound)) metadata.not_kept.push_back(name + remark);
    return metadata;
}

}  // namespace

std::vector<std::byte> bytes_of_text(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

void name_lost(std::string name, ImageMetadata& metadata) { add_once(std::move(name), metadata.not_kept); }

void keep(FormatBlock block, ImageMetadata& metadata) {
    constexpr size_t kMostBlocks = 1000;
    if (metadata.format_blocks.size() == kMostBlocks)
        return name_lost(fmt::format("{}, beyond {} of them", block.meaning, kMostBlocks), metadata);
    metadata.format_blocks.push_back(std::move(block));
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

std::vector<std::string> lost_metadata(const ImageMetadata& metadata, const std::filesystem::path& file, bool placed) {
    const std::string extension = extension_of(file);
    Names lost;
    if (is_tiff(file)) {
        add_lost_in_tiff(metadata, placed, lost);
    } else {
        if ((extension == ".npy" || extension == ".raw") && !metadata.icc_profile.empty())
            lost.emplace_back("colour profile");
        if (extension == ".webp" && is_gray_profile(metadata.icc_profile)) lost.emplace_back("colour profile of gray");
        if (!metadata.exif.empty() && !holds_packets(extension)) lost.push_back("EXIF" + orientation_remark(metadata));
        if (!metadata.xmp.empty() && !holds_packets(extension)) lost.emplace_back("XMP");
        if (metadata.x_resolution_per_m && !keeps_resolution(metadata, file)) lost.emplace_back("resolution");
        if (is_lossy(file)) add_too_large_for_jpeg(metadata, lost);
        if (extension == ".png") add_too_large_for_png(metadata, lost);
        if (metadata.has_unnamed_channel && extension != ".npy" && extension != ".raw")
            lost.emplace_back("that the last channel is not called alpha (only .tif says so)");
        if (metadata.tiff_position) lost.emplace_back("position (only .tif holds it)");
        add_tiff_tags(metadata, lost);
    }
    for (const FormatBlock& block : metadata.format_blocks)
        if (!is_of_format(block, file)) add_once(std::string(block.meaning), lost);
    for (const std::string& each : metadata.not_kept) add_once(each, lost);
    return lost;
}

bool is_gray_profile(const std::vector<std::byte>& profile) {
    constexpr size_t kPlace = 16;  // of the signature in the profile's header
    constexpr std::string_view kGray = "GRAY";
    const std::string_view text(reinterpret_cast<const char*>(profile.data()), profile.size());
    return text.size() > kPlace && text.substr(kPlace).starts_with(kGray);
}

ImageMetadata metadata_of_part(ImageMetadata metadata) {
    if (metadata.tiff_position) metadata.not_kept.emplace_back("position (the image is cropped)");
    metadata.tiff_position.reset();
    return without_tags(std::move(metadata), is_bound_to_extent, " (the image is cropped)");
}

ImageMetadata metadata_of_pages(ImageMetadata metadata) {
    return without_tags(std::move(metadata), is_bound_to_stack, " (only some pages are taken)");
}

ImageMetadata metadata_of_image(ImageMetadata metadata) { return without_tags(std::move(metadata), is_of_imagej, ""); }

}  // namespace pb::image
