// What an image file says beside its samples, and what of it another file cannot hold.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pb::image {

/// An entry of a TIFF directory. Its values are in the machine's byte order.
struct TiffTag {
    uint16_t number = 0;
    uint16_t type = 0;   // the number of TIFF's field type: 2 ASCII, 3 SHORT, 12 DOUBLE, ...
    uint32_t count = 0;  // number of values
    std::vector<std::byte> values;
};

/// The resolution tags of a TIFF. ImageJ stores pixels per micrometre without unit.
struct TiffResolution {
    float x = 0, y = 0;  // pixels per unit
    uint16_t unit = 0;   // the number of TIFF's ResolutionUnit: 1 none, 2 inch, 3 centimetre
};

/// Where a TIFF places its image, in the units of its resolution.
struct TiffPosition {
    float x = 0, y = 0;
};

/// A part of a file that only its own format can hold: a text chunk of PNG, a comment or Photoshop's block of JPEG.
struct FormatBlock {
    std::string_view extension;  // of the format: ".png", ".jpg"; all three are literals
    std::string_view type;       // "tEXt", "COM", ..
    std::string_view meaning;    // what is lost in another format, in words: "text"
    std::vector<std::byte> content;
};

/// The metadata of a file, copied from input to output where both formats can hold it. Pixels are never rotated: the
/// orientation remains a tag. TIFF keeps only the orientation of the EXIF block; reading a TIFF that is not upright
/// makes an EXIF block with that one entry. JPEG holds at most 65527 bytes of EXIF, 65504 of XMP and 16.7 MB of colour
/// profile; a PNG that other readers take holds 8 MB of each.
struct ImageMetadata {
    std::vector<std::byte> icc_profile;
    std::vector<std::byte> exif;  // the TIFF-structured block, without "Exif\0\0"
    std::optional<double> x_resolution_per_m;
    std::optional<double> y_resolution_per_m;
    std::optional<TiffResolution> tiff_resolution;  // a TIFF is written with this one if there is one
    bool tiff_big_endian = false;                   // byte order of the TIFF, in which ImageJ's own tags remain
    bool premultiplied_alpha = false;               // colours are multiplied by alpha, which only TIFF can store
    bool inverted = false;              // the file has white as zero: samples that are read are not those that it holds
    bool has_unnamed_channel = false;   // a TIFF does not say that its last channel is alpha; it is kept as alpha is
    std::vector<TiffTag> tiff_tags;     // tags that stay valid for another image of the same place, time and extent
    std::optional<double> nodata;       // GDAL_NODATA (also in tiff_tags): samples of this value are missing data
    uint16_t tiff_compression = 1;      // TIFF's number of the compression; 1: none
    std::vector<std::string> not_kept;  // metadata that is not stored here, in words: "pyramid of 3 levels"
    std::vector<std::byte> xmp;         // a packet of XMP (XML in UTF-8)
    std::vector<FormatBlock> format_blocks;
    std::optional<Extent> tiff_tile;            // pixels of a tile of the TIFF; none: it has strips
    std::optional<TiffPosition> tiff_position;  // of the image on a page or stage
};

/// Adds a name to what is not kept, once.
void name_lost(std::string name, ImageMetadata& metadata);

/// Adds a block. A file may have any number of small ones: those beyond 1000 are named as lost.
void keep(FormatBlock block, ImageMetadata& metadata);

/// Lists the parts of `metadata` that `file` cannot hold, in words for one line ("GeoTIFF tags (PNG holds none)",
/// "pyramid of 3 levels"). The list is empty when nothing is lost. `placed`: the file is written as a PlacedImage,
/// which is not compressed unless the caller asks for it.
[[nodiscard]] std::vector<std::string> lost_metadata(const ImageMetadata& metadata, const std::filesystem::path& file,
                                                     bool placed);

/// How the image is to be shown: the orientation of EXIF and TIFF, 1 to 8; 1 (upright) where there is none.
[[nodiscard]] int orientation_of(const ImageMetadata& metadata);

/// Returns the metadata of a file that has one image: without the tags that ImageJ gives to stacks.
[[nodiscard]] ImageMetadata metadata_of_image(ImageMetadata metadata);

/// Returns the metadata for some pages of a stack: without the tags that describe the whole stack.
[[nodiscard]] ImageMetadata metadata_of_pages(ImageMetadata metadata);

/// Returns the metadata for a part of the image that `metadata` describes: without the tags that state its place or
/// extent.
[[nodiscard]] ImageMetadata metadata_of_part(ImageMetadata metadata);

}  // namespace pb::image
