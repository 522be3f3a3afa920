#include "image/image_metadata.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"
#include "image/tiff/tags.hpp"
#include "image/tiff/write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pb::image {

namespace {

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

/// In metres, or as TIFF has it without a unit: pixels per micrometre, as ImageJ counts them, or a mere ratio.
bool has_resolution(const ImageMetadata& metadata) {
    const auto& own = metadata.tiff_resolution;
    return metadata.x_resolution_per_m || (own && (own->x != 1 || own->y != 1));
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

void name_lost(std::string name, ImageMetadata& metadata) { add_once(std::move(name), metadata.not_kept); }

void keep(FormatBlock block, ImageMetadata& metadata) {
    constexpr size_t kMostBlocks = 1000;
    if (metadata.format_blocks.size() == kMostBlocks)
        return name_lost(fmt::format("{}, beyond {} of them", block.meaning, kMostBlocks), metadata);
    metadata.format_blocks.push_back(std::move(block));
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
        if (has_resolution(metadata) && !keeps_resolution(metadata, file)) lost.emplace_back("resolution");
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

int orientation_of(const ImageMetadata& metadata) { return exif_orientation(metadata.exif); }

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
