#include "image/tiff/write.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/metadata.hpp"
#include "image/tiff/handle.hpp"
#include "image/tiff/tags.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cstring>

namespace pb::image {
namespace {

/// Short strips cost seeks; long strips cost memory in other readers.
int64_t rows_per_strip(size_t row_bytes, int64_t rows) {
    constexpr size_t kStripBytes = size_t{1} << 20U;
    return std::clamp<int64_t>(static_cast<int64_t>(kStripBytes / row_bytes), 1, rows);
}

int sample_format(DType type) {
    if (is_float(type)) return SAMPLEFORMAT_IEEEFP;
    return type == DType::i16 ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

/// The meaning of the samples beyond those of the photometric interpretation: alpha, or bands (unspecified).
std::vector<uint16_t> extra_samples(const ImageInfo& info, const ImageMetadata* metadata) {
    if (info.channels != 1 && info.channels != 3)
        return std::vector<uint16_t>(static_cast<size_t>(info.channels - 1), EXTRASAMPLE_UNSPECIFIED);
    if (!info.has_alpha) return {};
    if (metadata != nullptr && metadata->has_unnamed_channel) return {uint16_t{EXTRASAMPLE_UNSPECIFIED}};
    const bool premultiplied = metadata != nullptr && metadata->premultiplied_alpha;
    return {premultiplied ? uint16_t{EXTRASAMPLE_ASSOCALPHA} : uint16_t{EXTRASAMPLE_UNASSALPHA}};
}

/// True for compressions that work better on differences of neighbouring samples.
bool takes_predictor(uint16_t compression) {
    return compression == COMPRESSION_LZW || compression == COMPRESSION_ADOBE_DEFLATE ||
           compression == COMPRESSION_ZSTD;
}

void set_layout(TIFF* tiff, const TiffContent& content) {
    const auto& [info, metadata, compression] = content;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(info.extent.w));
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(info.extent.h));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * size_of(info.dtype)));
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format(info.dtype));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(info.stored_channels()));
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, info.channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    // libtiff 4.5 applies the float predictor wrongly in big-endian files.
    if (takes_predictor(compression) && !(is_float(info.dtype) && TIFFIsBigEndian(tiff) != 0))
        TIFFSetField(tiff, TIFFTAG_PREDICTOR, is_float(info.dtype) ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
    const std::vector<uint16_t> extra = extra_samples(info, metadata);
    if (!extra.empty()) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<int>(extra.size()), extra.data());
}

std::optional<TiffResolution> resolution_of(const ImageMetadata& metadata) {
    if (metadata.tiff_resolution) return metadata.tiff_resolution;
    if (!metadata.x_resolution_per_m || !metadata.y_resolution_per_m) return std::nullopt;
    constexpr double kInch = 0.0254;
    return TiffResolution{static_cast<float>(*metadata.x_resolution_per_m * kInch),
                          static_cast<float>(*metadata.y_resolution_per_m * kInch), RESUNIT_INCH};
}

void set_metadata(const TiffHandle& handle, const ImageMetadata& metadata) {
    TIFF* tiff = handle.get();
    write_tiff_tags(handle, metadata.tiff_tags);
    if (!metadata.icc_profile.empty())
        TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<uint32_t>(metadata.icc_profile.size()),
                     metadata.icc_profile.data());
    if (!metadata.xmp.empty())
        TIFFSetField(tiff, TIFFTAG_XMLPACKET, static_cast<uint32_t>(metadata.xmp.size()), metadata.xmp.data());
    if (const auto resolution = resolution_of(metadata)) {
        TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, resolution->unit);
        TIFFSetField(tiff, TIFFTAG_XRESOLUTION, resolution->x);
        TIFFSetField(tiff, TIFFTAG_YRESOLUTION, resolution->y);
    }
    if (metadata.tiff_position) {
        TIFFSetField(tiff, TIFFTAG_XPOSITION, metadata.tiff_position->x);
        TIFFSetField(tiff, TIFFTAG_YPOSITION, metadata.tiff_position->y);
    }
    const uint16_t orientation = exif_orientation(metadata.exif);
    if (orientation != 1) TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation);
}

/// Sets everything but how the pixels are divided.
void set_page(const TiffHandle& tiff, const TiffContent& content) {
    set_layout(tiff.get(), content);
    if (content.metadata != nullptr) set_metadata(tiff, *content.metadata);
}

TiffContent content_of(const ImageToSave& image) {
    return {info_of(image), image.metadata, same_compression(image.metadata)};
}

void set_tile(const TiffHandle& tiff, const Extent& tile) {
    TIFFSetField(tiff.get(), TIFFTAG_TILEWIDTH, static_cast<uint32_t>(tile.w));
    TIFFSetField(tiff.get(), TIFFTAG_TILELENGTH, static_cast<uint32_t>(tile.h));
}

std::vector<std::byte> tile_of(const ImageInfo& info) {
    return std::vector<std::byte>(static_cast<size_t>(kTiffTile * kTiffTile) * info.stored_pixel_bytes());
}

/// Calls `use(index, tile)` for every tile of a file made by lay_out_tiff.
template <class Use>
void for_tiles(const RandomAccessFile& placed, const ImageInfo& info, Use&& use) {
    std::vector<std::byte> tile = tile_of(info);
    const int64_t count = ceil_div(info.extent.h, kTiffTile) * ceil_div(info.extent.w, kTiffTile);
    for (int64_t index = 0; index < count; ++index) {
        placed.read_at(kBigTiffHeaderBytes + static_cast<uint64_t>(index) * tile.size(), tile);
        use(static_cast<uint32_t>(index), tile);
    }
}

void compare_tiles(const RandomAccessFile& placed, const ImageInfo& info, const RandomAccessFile& compressed) {
    const TiffHandle tiff(compressed);
    std::vector<std::byte> decoded = tile_of(info);
    const auto bytes = static_cast<tmsize_t>(decoded.size());
    for_tiles(placed, info, [&](uint32_t index, const std::vector<std::byte>& tile) {
        const bool equal = tiff.get() != nullptr &&
                           TIFFReadEncodedTile(tiff.get(), index, decoded.data(), bytes) == bytes && decoded == tile;
        require(equal, fmt::format("tile {} of the compressed copy is not the one that was compressed", index));
    });
}

void write_strips(const TiffHandle& tiff, const ImageToSave& image) {
    InterleavingRows rows(image);
    const int64_t height = image.pixels.extent.h;
    const size_t row_bytes = rows.row_bytes();
    const int64_t strip_rows = rows_per_strip(row_bytes, height);
    TIFFSetField(tiff.get(), TIFFTAG_ROWSPERSTRIP, static_cast<uint32_t>(strip_rows));
    std::vector<std::byte> strip(row_bytes * static_cast<size_t>(strip_rows));
    for (int64_t begin = 0; begin < height; begin += strip_rows) {
        const int64_t count = std::min(strip_rows, height - begin);
        for (int64_t y = 0; y < count; ++y)
            std::memcpy(strip.data() + static_cast<size_t>(y) * row_bytes, rows.row(begin + y), row_bytes);
        const auto bytes = static_cast<tmsize_t>(row_bytes * static_cast<size_t>(count));
        const auto index = static_cast<uint32_t>(begin / strip_rows);
        if (TIFFWriteEncodedStrip(tiff.get(), index, strip.data(), bytes) != bytes) tiff.fail_writing();
    }
}

/// Those at the right and the lower edge end with zeros.
void write_tiles(const TiffHandle& tiff, const ImageToSave& image, const Extent& tile) {
    const Extent extent = image.pixels.extent;
    const int64_t colours = image.pixels.channels;
    set_tile(tiff, tile);
    uint32_t index = 0;
    for (int64_t y = 0; y < extent.h; y += tile.h)
        for (int64_t x = 0; x < extent.w; x += tile.w) {
            const Extent kept{std::min(tile.h, extent.h - y), std::min(tile.w, extent.w - x)};
            Image block(tile, info_of(image).stored_channels(), image.pixels.dtype);
            const MutablePixelView to = block.view().part({0, 0, kept});
            copy_bands(image.pixels.part({y, x, kept}), 0, colours, to, 0);
            if (has_alpha(image)) copy_bands(image.alpha.part({y, x, kept}), 0, 1, to, colours);
            const auto bytes = static_cast<tmsize_t>(block.bytes().size());
            if (TIFFWriteEncodedTile(tiff.get(), index++, block.bytes().data(), bytes) != bytes) tiff.fail_writing();
        }
}

}  // namespace

uint64_t metadata_bytes(const ImageMetadata* metadata) {
    if (metadata == nullptr) return 0;
    uint64_t bytes = metadata->icc_profile.size() + metadata->xmp.size();
    for (const TiffTag& tag : metadata->tiff_tags) bytes += tag.values.size();
    return bytes;
}

uint16_t tag_of(Compression compression) {
    if (compression == Compression::deflate) return COMPRESSION_ADOBE_DEFLATE;
    return compression == Compression::lzw ? COMPRESSION_LZW : COMPRESSION_NONE;
}

uint16_t same_compression(const ImageMetadata* metadata) {
    if (metadata == nullptr || !can_compress_again(metadata->tiff_compression)) return COMPRESSION_NONE;
    return metadata->tiff_compression == COMPRESSION_DEFLATE ? COMPRESSION_ADOBE_DEFLATE : metadata->tiff_compression;
}

void write_tiff_page(const TiffHandle& tiff, const ImageToSave& image) {
    set_page(tiff, content_of(image));
    write_strips(tiff, image);
}

void write_tiff(const ImageToSave& image, AtomicFile& file) {
    const ImageMetadata* metadata = image.metadata;
    const bool has_tiles = metadata != nullptr && metadata->tiff_tile;
    const Extent extent = image.pixels.extent, unit = has_tiles ? *metadata->tiff_tile : Extent{1, 1};
    const TiffContent content = content_of(image);
    const uint64_t bytes =
        static_cast<uint64_t>(tiled_extent(extent, unit).pixels()) * content.info.stored_pixel_bytes();
    const bool may_grow = content.compression != COMPRESSION_NONE;
    const TiffHandle tiff(file, needs_big_tiff(bytes, metadata_bytes(metadata), may_grow));
    set_page(tiff, content);
    has_tiles ? write_tiles(tiff, image, unit) : write_strips(tiff, image);
    if (TIFFFlush(tiff.get()) != 1 || tiff.has_error()) tiff.fail_writing();
}

/// libtiff receives every tile, but its writes are skipped. It therefore knows all offsets when it writes the directory
/// after the tiles.
void lay_out_tiff(const ImageInfo& info, const ImageMetadata* metadata, AtomicFile& file) {
    TiffHandle tiff(file, true);
    set_page(tiff, {info, metadata});
    set_tile(tiff, {kTiffTile, kTiffTile});
    std::vector<std::byte> tile = tile_of(info);
    const auto bytes = static_cast<tmsize_t>(tile.size());
    const uint32_t num_tiles = TIFFNumberOfTiles(tiff.get());
    tiff.skip_writes(true);
    for (uint32_t index = 0; index < num_tiles; ++index)
        if (TIFFWriteRawTile(tiff.get(), index, tile.data(), bytes) != bytes) tiff.fail_writing();
    tiff.skip_writes(false);
    const uint64_t last = kBigTiffHeaderBytes + (num_tiles - 1) * static_cast<uint64_t>(bytes);
    require(TIFFGetStrileOffset(tiff.get(), num_tiles - 1) == last, "libtiff put tiles elsewhere than expected");
    if (TIFFFlush(tiff.get()) != 1 || tiff.has_error()) tiff.fail_writing();
}

void compress_tiff(const RandomAccessFile& placed, const TiffContent& content, AtomicFile& file) {
    {
        TiffHandle tiff(file, needs_big_tiff(placed.size(), metadata_bytes(content.metadata), true));
        set_page(tiff, content);
        set_tile(tiff, {kTiffTile, kTiffTile});
        for_tiles(placed, content.info, [&](uint32_t index, std::vector<std::byte>& tile) {
            const auto bytes = static_cast<tmsize_t>(tile.size());
            if (TIFFWriteEncodedTile(tiff.get(), index, tile.data(), bytes) != bytes) tiff.fail_writing();
        });
        if (TIFFFlush(tiff.get()) != 1 || tiff.has_error()) tiff.fail_writing();
    }
    compare_tiles(placed, content.info, RandomAccessFile(file.path()));
}

}  // namespace pb::image
