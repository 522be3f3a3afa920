// Which tags of a TIFF go from input to output, and the names of those that do not.
#pragma once

#include "image/image_file.hpp"
#include "image/tiff_handle.hpp"

#include <string>
#include <vector>

namespace pb {

/// Fills tiff_tags, nodata, tiff_compression and not_kept from the current directory. Statistics in GDAL_METADATA are
/// taken out of it: the output has others. `rearranged`: the output holds its samples in another order (planes,
/// palette), so that a description of that order does not hold.
void read_tiff_tags(TIFF* tiff, bool rearranged, ImageMetadata& metadata);

/// To a TIFF that is written, before its pixels. Throws Error with libtiff's words.
void write_tiff_tags(const TiffHandle& tiff, const std::vector<TiffTag>& tags);

/// The name of a tag that is kept, as in libtiff's and GDAL's documentation; the georeference's all are "GeoTIFF tags".
[[nodiscard]] std::string tiff_tag_name(uint16_t number);

/// True for tags that say where in the world or in a larger whole the pixels lie, or how many they are.
[[nodiscard]] bool is_bound_to_extent(const TiffTag& tag);

/// The compression's name, and whether it gives back the same pixels and this libtiff can write it.
[[nodiscard]] std::string compression_name(uint16_t compression);
[[nodiscard]] bool can_compress_again(uint16_t compression);

}  // namespace pb
