// The TIFF tags that are copied from input to output, and the names of those that are not.
#pragma once

#include "image/image_file.hpp"
#include "image/tiff/handle.hpp"

#include <string>
#include <vector>

namespace pb::image {

/// Fills tiff_tags, nodata, tiff_compression, xmp and not_kept from the current directory. Statistics are removed from
/// GDAL_METADATA because those of the output differ. `rearranged`: the output stores its samples in another order
/// (planes, palette), so that a description of the input's order would be wrong.
void read_tiff_tags(TIFF* tiff, bool rearranged, ImageMetadata& metadata);

/// Writes the tags to a TIFF; must be called before its pixels are written. Throws Error with libtiff's message.
void write_tiff_tags(const TiffHandle& tiff, const std::vector<TiffTag>& tags);

/// Returns the name of a kept tag, as in the documentation of libtiff and GDAL. All georeference tags have the name
/// "GeoTIFF tags".
[[nodiscard]] std::string tiff_tag_name(uint16_t number);

/// True for tags that state the position of the pixels in the world or in a larger image, or their number.
[[nodiscard]] bool is_bound_to_extent(const TiffTag& tag);

/// The text of the tag ImageDescription; empty where there is none. Setting it replaces it or adds the tag.
[[nodiscard]] std::string description_in(const ImageMetadata& metadata);
void set_description(ImageMetadata& metadata, const std::string& text);

/// Removes from tifffile's description of a stack that it has one directory.
void drop_truncation(ImageMetadata& metadata);

/// True for tags that describe the images of a stack and their order.
[[nodiscard]] bool is_bound_to_stack(const TiffTag& tag);

/// True for the tags in which ImageJ stores labels, display ranges and regions, in the byte order of the file.
[[nodiscard]] bool is_of_imagej(const TiffTag& tag);

/// The name of a compression, and whether it is lossless and this libtiff can write it.
[[nodiscard]] std::string compression_name(uint16_t compression);
[[nodiscard]] bool can_compress_again(uint16_t compression);

}  // namespace pb::image
