#include "image/tiff/layout.hpp"

#include "image/formats/metadata.hpp"
#include "image/tiff/tags.hpp"
#include "image/tiff/write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace pb::image {
namespace {

uint16_t short_tag(TIFF* tiff, uint32_t tag, uint16_t otherwise) {
    uint16_t value = otherwise;
    return TIFFGetFieldDefaulted(tiff, tag, &value) == 1 ? value : otherwise;
}

DType sample_type(TIFF* tiff, const RandomAccessFile& file) {
    const uint16_t bits = short_tag(tiff, TIFFTAG_BITSPERSAMPLE, 1);
    const uint16_t format = short_tag(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    const bool is_unsigned = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
    const bool floats = format == SAMPLEFORMAT_IEEEFP;
    if (is_unsigned && bits == 8) return DType::u8;
    if (is_unsigned && bits == 16) return DType::u16;
    if (is_unsigned && bits == 32) return DType::u32;
    if (format == SAMPLEFORMAT_INT && bits == 16) return DType::i16;
    if (floats && bits == 16) return DType::f16;
    if (floats && bits == 32) return DType::f32;
    if (floats && bits == 64) return DType::f64;
    const char* kind = floats ? "float" : is_unsigned ? "unsigned" : "signed or complex";
    file.refuse(fmt::format("{}-bit {} samples are not supported", bits, kind),
                "convert it to 8, 16 or 32 bits unsigned, 16 bits signed, or 16, 32 or 64 bits float");
}

/// The number of colour channels that the photometric interpretation gives.
int64_t colour_channels(TIFF* tiff, const RandomAccessFile& file) {
    const uint16_t compression = short_tag(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    constexpr uint16_t kNone = 0xFFFF;
    const uint16_t photometric = short_tag(tiff, TIFFTAG_PHOTOMETRIC, kNone);
    const uint16_t planes = short_tag(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    switch (photometric) {
        case PHOTOMETRIC_MINISWHITE:
        case PHOTOMETRIC_MINISBLACK: return 1;
        case PHOTOMETRIC_RGB:
        case PHOTOMETRIC_PALETTE: return 3;
        case PHOTOMETRIC_YCBCR:
            if (compression == COMPRESSION_JPEG && planes == PLANARCONFIG_CONTIG) return 3;
            if (compression == COMPRESSION_OJPEG)
                file.refuse("old-style JPEG (compression 6) is not supported", "convert it to RGB, as with tiff2rgba");
            file.refuse("YCbCr samples are supported in JPEG compression (7) with interleaved samples only",
                        "convert it to RGB");
        case PHOTOMETRIC_SEPARATED:
            file.refuse("it is a CMYK image", "convert it to RGB, with the printer's profile, first");
        case kNone:
            file.refuse("it does not say what its samples mean: it has no photometric interpretation",
                        "write it as gray or RGB");
        default:
            file.refuse(fmt::format("its photometric interpretation ({}) is not supported", photometric),
                        "convert it to gray or RGB");
    }
}

/// Reads the colour map as 256 RGB entries of 8 bits.
std::vector<uint8_t> read_palette(TIFF* tiff, const RandomAccessFile& file) {
    constexpr size_t kEntries = 256;
    uint16_t* maps[3] = {nullptr, nullptr, nullptr};
    if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) != 1)
        file.refuse_damaged("a palette image without a colour map");
    // The map holds 16-bit values by the specification, but some writers store 8-bit values.
    bool eight_bits = true;
    for (const uint16_t* map : maps) eight_bits &= *std::max_element(map, map + kEntries) < 256;
    std::vector<uint8_t> palette;
    for (size_t i = 0; i < kEntries; ++i)
        for (const uint16_t* map : maps) palette.push_back(static_cast<uint8_t>(eight_bits ? map[i] : map[i] >> 8U));
    return palette;
}

void read_channels(TIFF* tiff, const RandomAccessFile& file, TiffLayout& layout) {
    const bool palette = short_tag(tiff, TIFFTAG_PHOTOMETRIC, 0xFFFF) == PHOTOMETRIC_PALETTE;
    layout.info.dtype = sample_type(tiff, file);
    layout.info.channels = colour_channels(tiff, file);
    layout.samples = short_tag(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    const int64_t colour_samples = palette ? 1 : layout.info.channels;
    const int64_t extra = layout.samples - colour_samples;
    if (extra < 0 || (palette && extra != 0))
        file.refuse(fmt::format("it has {} samples a pixel", layout.samples),
                    "keep gray or RGB, and one alpha channel at most");
    layout.info.has_alpha = extra == 1;
    if (extra > 1) layout.info.channels = layout.samples;  // all are bands, even the first ones
    if (palette && layout.info.dtype != DType::u8) file.refuse("its palette is not of 8 bits", "convert it to RGB");
    if (palette) layout.palette = read_palette(tiff, file);
}

void read_blocks(TIFF* tiff, TiffLayout& layout) {
    uint32_t h = 0;
    uint32_t w = 0;
    layout.tiled = TIFFIsTiled(tiff) != 0;
    if (layout.tiled) {
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &h);
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &w);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &h);
        h = static_cast<uint32_t>(std::min<int64_t>(h, layout.info.extent.h));
        w = static_cast<uint32_t>(layout.info.extent.w);
    }
    layout.block = {h, w};
    layout.planar =
        short_tag(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE && layout.samples > 1;
    if (h > 0 && w > 0) layout.blocks = {ceil_div(layout.info.extent.h, h), ceil_div(layout.info.extent.w, w)};
}

/// The largest number of decoded bytes per byte of the file.
uint64_t largest_ratio(uint16_t compression) {
    switch (compression) {
        case COMPRESSION_NONE: return 1;
        case COMPRESSION_PACKBITS: return 64;
        case COMPRESSION_LZW:
        case COMPRESSION_ADOBE_DEFLATE:
        case COMPRESSION_DEFLATE:
        case COMPRESSION_JPEG: return 2048;
        default: return uint64_t{1} << 20U;
    }
}

void check_size(const RandomAccessFile& file, const TiffLayout& layout, uint16_t compression) {
    const Extent extent = layout.info.extent;
    const auto height = static_cast<uint64_t>(extent.h), width = static_cast<uint64_t>(extent.w);
    const uint64_t row_bytes = width * static_cast<uint64_t>(layout.samples) * layout.sample_bytes();
    file.require_room({height, width, row_bytes, largest_ratio(compression)}, file.size());
    constexpr int64_t kLargestTile = 65536;
    const uint64_t block_bytes = static_cast<uint64_t>(layout.block.pixels()) * layout.pixel_bytes();
    if (layout.tiled && (std::max(layout.block.h, layout.block.w) > kLargestTile ||
                         (block_bytes > (uint64_t{1} << 28U) && block_bytes / 4 > layout.info.bytes())))
        file.refuse_damaged(
            fmt::format("its header says tiles of {}x{} px (height x width)", layout.block.h, layout.block.w));
}

/// What the samples beyond gray or RGB are: one may be alpha, more make all of them bands, written as such or as RGB.
void read_roles(TIFF* tiff, const TiffLayout& layout, ImageMetadata& metadata) {
    const uint16_t* stated = nullptr;
    uint16_t num_stated = 0;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &num_stated, &stated) != 1) num_stated = 0;
    const std::span<const uint16_t> kinds(stated, num_stated);
    const uint16_t first = kinds.empty() ? uint16_t{EXTRASAMPLE_UNSPECIFIED} : kinds.front();
    metadata.premultiplied_alpha = first == EXTRASAMPLE_ASSOCALPHA;
    metadata.has_unnamed_channel = layout.info.has_alpha && first == EXTRASAMPLE_UNSPECIFIED;
    if (layout.info.has_alpha || layout.info.channels != layout.samples || kinds.empty()) return;
    const bool is_rgb = short_tag(tiff, TIFFTAG_PHOTOMETRIC, 0xFFFF) == PHOTOMETRIC_RGB;
    if (is_rgb != (layout.samples == 3)) metadata.not_kept.emplace_back("which of its channels are colours");
    const bool has_alpha = std::ranges::any_of(kinds, [](uint16_t kind) { return kind != EXTRASAMPLE_UNSPECIFIED; });
    if (has_alpha) metadata.not_kept.emplace_back("that a channel is alpha (it is a band)");
}

}  // namespace

int64_t TiffLayout::rows_of_block(int64_t block_row) const {
    return tiled ? block.h : std::min(block.h, info.extent.h - block_row * block.h);
}

TiffLayout read_tiff_layout(TIFF* tiff, const RandomAccessFile& file) {
    TiffLayout layout;
    uint32_t h = 0;
    uint32_t w = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &h);
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &w);
    layout.info.extent = {h, w};
    if (h == 0 || w == 0) file.refuse_damaged("its header says that it has no pixels");
    const uint16_t compression = short_tag(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    if (TIFFIsCODECConfigured(compression) == 0)
        file.refuse(fmt::format("its compression ({}) is not known to this libtiff", compression),
                    "save it with LZW or Deflate compression");
    read_channels(tiff, file, layout);
    read_blocks(tiff, layout);
    if (layout.blocks.pixels() == 0) file.refuse_damaged("its header says that blocks have no pixels");
    check_size(file, layout, compression);
    layout.raw =
        compression == COMPRESSION_NONE && short_tag(tiff, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_MSB2LSB;
    layout.byte_swapped = TIFFIsByteSwapped(tiff) != 0;
    layout.white_is_zero = short_tag(tiff, TIFFTAG_PHOTOMETRIC, 0xFFFF) == PHOTOMETRIC_MINISWHITE;
    const DType type = layout.info.dtype;
    const bool can_invert =
        layout.info.channels == 1 && (type == DType::u8 || type == DType::u16 || type == DType::f32);
    if (layout.white_is_zero && !can_invert)
        file.refuse("its photometric interpretation is white-is-zero, with samples for which that is not agreed",
                    "convert it to black-is-zero");
    // The decoder then returns strips and tiles as RGB for any subsampling.
    if (compression == COMPRESSION_JPEG) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout.has_lossy_colours =
        compression == COMPRESSION_JPEG && short_tag(tiff, TIFFTAG_PHOTOMETRIC, 0xFFFF) == PHOTOMETRIC_YCBCR;
    return layout;
}

ImageMetadata read_tiff_metadata(TIFF* tiff, const TiffLayout& layout) {
    ImageMetadata metadata;
    read_tiff_tags(tiff, layout.planar || !layout.palette.empty(), metadata);
    uint32_t length = 0;
    const std::byte* profile = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &length, &profile) == 1)
        metadata.icc_profile.assign(profile, profile + length);
    const uint16_t unit = short_tag(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
    const double per_metre = unit == RESUNIT_INCH ? 100 / 2.54 : 100;
    float x = 0;
    float y = 0;
    const bool given =
        TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) == 1 && TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y) == 1;
    if (given) metadata.tiff_resolution = TiffResolution{x, y, unit};
    if (given && unit != RESUNIT_NONE && x > 0 && y > 0) {
        metadata.x_resolution_per_m = x * per_metre;
        metadata.y_resolution_per_m = y * per_metre;
    }
    if (layout.tiled && can_write_tiles(layout.block, layout.info.extent))
        metadata.tiff_tile = layout.block;
    else if (layout.tiled)
        metadata.not_kept.push_back(fmt::format("tiles of {} x {}", layout.block.h, layout.block.w));
    const bool is_placed =
        TIFFGetField(tiff, TIFFTAG_XPOSITION, &x) == 1 && TIFFGetField(tiff, TIFFTAG_YPOSITION, &y) == 1;
    if (is_placed && x >= 0 && y >= 0)  // libtiff writes no others, though there are some
        metadata.tiff_position = TiffPosition{x, y};
    else if (is_placed)
        metadata.not_kept.push_back(fmt::format("position ({:g}; {:g})", x, y));  // names are joined by ", "
    const uint16_t orientation = short_tag(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (orientation > 1 && orientation <= 8) metadata.exif = make_orientation_exif(orientation);
    read_roles(tiff, layout, metadata);
    metadata.inverted = layout.white_is_zero;
    if (layout.white_is_zero) metadata.not_kept.emplace_back("white as zero (samples are inverted)");
    return metadata;
}

}  // namespace pb::image
