// TIFF files of every layout that this program reads, written by libtiff.
#pragma once

#include "image_support.hpp"

#include <tiffio.h>

namespace pb::test {

struct TiffKind {
    const char* mode = "w";  // "w8" BigTIFF, "wb" big-endian, "wl" little-endian
    int compression = COMPRESSION_NONE;
    int predictor = 0;
    bool planar = false;
    uint32_t tile = 0;  // edge; 0: strips
    uint32_t strip_rows = 16;
    int photometric = -1;  // -1: by the channels
    int extra_sample = EXTRASAMPLE_UNASSALPHA;
};

inline void set_tiff_tags(TIFF* tiff, const image::Image& image, bool alpha, const TiffKind& kind) {
    const auto channels = static_cast<int>(image.channels());
    const int colour = channels - (alpha ? 1 : 0);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(image.extent().w));
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(image.extent().h));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * size_of(image.dtype())));
    const int whole = image.dtype() == DType::i16 ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, is_float(image.dtype()) ? SAMPLEFORMAT_IEEEFP : whole);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, kind.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, kind.compression);
    if (kind.predictor > 0) TIFFSetField(tiff, TIFFTAG_PREDICTOR, kind.predictor);
    const int by_channels = colour == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, kind.photometric < 0 ? by_channels : kind.photometric);
    if (kind.photometric == PHOTOMETRIC_YCBCR) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 98);
    }
    const auto extra = static_cast<uint16_t>(kind.extra_sample);
    if (alpha) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
    if (kind.tile > 0) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kind.tile);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, kind.tile);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, kind.strip_rows);
    }
}

/// Samples of one block; plane < 0: interleaved. Outside the image: zero.
inline std::vector<std::byte> cut_block(const image::Image& image, const Rect& block, int64_t plane) {
    const size_t sample = size_of(image.dtype());
    const auto channels = static_cast<size_t>(image.channels());
    const size_t pixel = plane < 0 ? sample * channels : sample;
    std::vector<std::byte> bytes(static_cast<size_t>(block.extent.pixels()) * pixel);
    for (int64_t y = 0; y < block.extent.h && block.row + y < image.extent().h; ++y)
        for (int64_t x = 0; x < block.extent.w && block.column + x < image.extent().w; ++x) {
            const auto from =
                static_cast<size_t>((block.row + y) * image.extent().w + block.column + x) * sample * channels;
            std::memcpy(bytes.data() + static_cast<size_t>(y * block.extent.w + x) * pixel,
                        image.bytes().data() + from + (plane < 0 ? 0 : static_cast<size_t>(plane) * sample), pixel);
        }
    return bytes;
}

inline void write_tiff_pixels(TIFF* tiff, const image::Image& image, const TiffKind& kind) {
    const int64_t planes = kind.planar ? image.channels() : 1;
    const Extent extent = image.extent();
    const Extent block = kind.tile > 0 ? Extent{kind.tile, kind.tile} : Extent{kind.strip_rows, extent.w};
    uint32_t index = 0;
    for (int64_t plane = 0; plane < planes; ++plane)
        for (int64_t row = 0; row < extent.h; row += block.h)
            for (int64_t column = 0; column < extent.w; column += block.w) {
                const int64_t rows = kind.tile > 0 ? block.h : std::min(block.h, extent.h - row);
                auto bytes = cut_block(image, {row, column, {rows, block.w}}, kind.planar ? plane : -1);
                const auto size = static_cast<tmsize_t>(bytes.size());
                const tmsize_t written = kind.tile > 0 ? TIFFWriteEncodedTile(tiff, index++, bytes.data(), size)
                                                       : TIFFWriteEncodedStrip(tiff, index++, bytes.data(), size);
                ASSERT_EQ(written, size);
            }
}

/// `image` holds alpha as its last channel when `alpha` is set.
inline void write_tiff_fixture(const std::filesystem::path& path, const image::Image& image, bool alpha,
                               const TiffKind& kind) {
    TIFF* tiff = TIFFOpen(path.c_str(), kind.mode);
    ASSERT_NE(tiff, nullptr);
    set_tiff_tags(tiff, image, alpha, kind);
    write_tiff_pixels(tiff, image, kind);
    TIFFClose(tiff);
}

/// Colour channels of an image whose last channel is alpha, or alpha alone.
inline image::Image take_channels(const image::Image& image, int64_t first, int64_t count) {
    image::Image taken(image.extent(), count, image.dtype());
    const size_t sample = size_of(image.dtype());
    for (int64_t i = 0; i < image.extent().pixels(); ++i)
        std::memcpy(taken.bytes().data() + static_cast<size_t>(i * count) * sample,
                    image.bytes().data() + static_cast<size_t>(i * image.channels() + first) * sample,
                    static_cast<size_t>(count) * sample);
    return taken;
}

}  // namespace pb::test
