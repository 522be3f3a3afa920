#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"
#include "image/tiff/tags.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pb::image {
namespace {

using Names = std::vector<std::string>;

void add_once(std::string name, Names& names) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
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
    const uint16_t compression = metadata.tiff_compression;
    if (compression == COMPRESSION_NONE) return;
    if (!can_compress_again(compression))
        lost.push_back(compression_name(compression));
    else if (placed)
        lost.push_back(compression_name(compression) + " (--compress makes such a file)");
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

std::vector<std::string> lost_metadata(const ImageMetadata& metadata, const std::filesystem::path& file, bool placed) {
    const std::string extension = extension_of(file);
    Names lost;
    if (is_tiff(file)) {
        add_lost_in_tiff(metadata, placed, lost);
    } else {
        if (extension == ".npy" || extension == ".raw") {
            if (!metadata.icc_profile.empty()) lost.emplace_back("colour profile");
            if (!metadata.exif.empty()) lost.emplace_back("EXIF");
        }
        if (extension == ".webp" && is_gray_profile(metadata.icc_profile)) lost.emplace_back("colour profile of gray");
        if (extension == ".bmp" && !metadata.exif.empty()) lost.emplace_back("EXIF");
        if (metadata.x_resolution_per_m && !keeps_resolution(metadata, file)) lost.emplace_back("resolution");
        if (is_lossy(file) && metadata.exif.size() > kMostExifInJpeg)
            lost.emplace_back("EXIF of more than 64 KB, with its orientation");
        if (metadata.has_unnamed_channel && extension != ".npy" && extension != ".raw")
            lost.emplace_back("that the last channel is not called alpha (only .tif says so)");
        add_tiff_tags(metadata, lost);
    }
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
    return without_tags(std::move(metadata), is_bound_to_extent, " (the image is cropped)");
}

ImageMetadata metadata_of_pages(ImageMetadata metadata) {
    return without_tags(std::move(metadata), is_bound_to_stack, " (only some pages are taken)");
}

ImageMetadata metadata_of_image(ImageMetadata metadata) { return without_tags(std::move(metadata), is_of_imagej, ""); }

}  // namespace pb::image
