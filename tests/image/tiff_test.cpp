#include "image/tiff/write.hpp"
#include "tiff_fixture.hpp"

#include <gmock/gmock.h>

#include <array>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;
using test::take_channels;
using test::TiffKind;
using test::write_tiff_fixture;
using testing::HasSubstr;
using Tiff = test::InFolder;

std::vector<TiffKind> all_layouts() {
    std::vector<TiffKind> kinds;
    for (const char* mode : {"wl", "wb", "w8"})
        for (const int compression :
             {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS})
            for (const bool planar : {false, true})
                for (const uint32_t tile : {0U, 32U}) kinds.push_back({mode, compression, 0, planar, tile});
    return kinds;
}

TEST_F(Tiff, EveryLayoutReadsBack) {
    for (const DType dtype : {DType::u8, DType::u16, DType::f32})
        for (const int64_t channels : {1, 2, 3, 4})
            for (const TiffKind& kind : all_layouts()) {
                const bool alpha = channels % 2 == 0;
                const int64_t colour = alpha ? channels - 1 : channels;
                const Image image = make_pattern({45, 71}, channels, dtype);
                write_tiff_fixture(folder / "a.tif", image, alpha, kind);
                const auto file = open_image(folder / "a.tif");
                ASSERT_EQ(file->info().has_alpha, alpha);
                ASSERT_TRUE(file->windowed());
                const Image loaded = test::read_part(*file, {0, 0, {45, 71}});
                ASSERT_TRUE(same_bytes(loaded, take_channels(image, 0, colour)))
                    << kind.mode << " " << kind.compression << " planar " << kind.planar << " tile " << kind.tile;
                const Image kept = file->read_alpha();
                ASSERT_TRUE(alpha ? same_bytes(kept, take_channels(image, colour, 1)) : kept.empty());
                const Rect part{13, 9, {20, 40}};
                ASSERT_TRUE(!alpha || same_bytes(file->read_alpha(part), test::crop(kept, part)));
            }
}

TEST_F(Tiff, PartsEqualTheWhole) {
    const Image image = make_pattern({45, 71}, 3, DType::u16);
    for (const TiffKind& kind : all_layouts()) {
        write_tiff_fixture(folder / "a.tif", image, false, kind);
        test::expect_parts_equal_whole(folder / "a.tif", image);
    }
}

TEST_F(Tiff, PartsFarToTheRightAreThoseOfTheirTiles) {
    const Image image = make_pattern({20, 900}, 3, DType::u8);
    write_tiff_fixture(folder / "a.tif", image, false, {.tile = 16});
    const Rect part{3, 530, {10, 40}};  // from tile 33 on, more than 16 x 16 columns
    EXPECT_TRUE(same_bytes(test::read_part(*open_image(folder / "a.tif"), part), test::crop(image, part)));
}

TEST_F(Tiff, PredictorsAreUndone) {
    for (const DType dtype : {DType::u8, DType::u16, DType::f32}) {
        const Image image = make_pattern({45, 71}, 3, dtype);
        // libtiff 4.5 writes big-endian files with the float predictor wrongly.
        const TiffKind kind{is_float(dtype) ? "wl" : "wb", COMPRESSION_LZW,
                            is_float(dtype) ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL};
        write_tiff_fixture(folder / "a.tif", image, false, kind);
        EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image));
    }
}

TEST_F(Tiff, JpegInTiffIsReadAsRgb) {
    Image scene({48, 64}, 3, DType::f32);
    std::fill_n(scene.as<float>(), 48 * 64 * 3, 0.4F);
    Image image(scene.extent(), 3, DType::u8);
    from_float(scene.view(), image.view());
    for (const uint32_t tile : {0U, 32U}) {
        TiffKind kind{"w", COMPRESSION_JPEG, 0, false, tile};
        kind.photometric = PHOTOMETRIC_YCBCR;
        write_tiff_fixture(folder / "a.tif", image, false, kind);
        const Image loaded = load_image(folder / "a.tif");
        for (int64_t i = 0; i < 48 * 64 * 3; ++i) ASSERT_NEAR(loaded.as<uint8_t>()[i], image.as<uint8_t>()[i], 2);
    }
}

TEST_F(Tiff, HarmlessWarningsOfJpegAreIgnored) {
    write_tiff_fixture(folder / "a.tif", make_pattern({16, 32}, 3, DType::u8), false,
                       {.compression = COMPRESSION_JPEG, .photometric = PHOTOMETRIC_YCBCR});
    const Image image = load_image(folder / "a.tif");
    std::vector<char> bytes = test::read_bytes(folder / "a.tif");
    const std::string scan("\3\x11\0\x3F\0", 5);  // the last of three components, all coefficients
    const auto place = std::search(bytes.begin(), bytes.end(), scan.begin(), scan.end());
    ASSERT_NE(place, bytes.end());
    place[3] = 0;  // as a progressive file has it
    test::write_bytes(folder / "a.tif", bytes);
    EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image));
}

/// The decoder would give the planes as they are.
TEST_F(Tiff, YCbCrInPlanesIsRefused) {
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    const Image image = make_pattern({16, 16}, 3, DType::u8);
    const TiffKind kind{.compression = COMPRESSION_JPEG, .planar = true, .photometric = PHOTOMETRIC_YCBCR};
    test::set_tiff_tags(tiff, image, false, kind);
    TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 1, 1);
    test::write_tiff_pixels(tiff, image, kind);
    TIFFClose(tiff);
    EXPECT_THAT(test::refusal_of(folder / "a.tif"), HasSubstr("YCbCr"));
}

TEST_F(Tiff, OldStyleJpegIsRefusedByItsName) {
    write_tiff_fixture(folder / "a.tif", make_pattern({16, 32}, 3, DType::u8), false,
                       {.compression = COMPRESSION_JPEG, .photometric = PHOTOMETRIC_YCBCR});
    std::vector<char> bytes = test::read_bytes(folder / "a.tif");
    const std::string entry("\x03\x01\x03\x00\x01\x00\x00\x00\x07", 9);  // the tag Compression of 7
    const auto place = std::search(bytes.begin(), bytes.end(), entry.begin(), entry.end());
    ASSERT_NE(place, bytes.end());
    place[8] = COMPRESSION_OJPEG;
    test::write_bytes(folder / "a.tif", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.tif"), HasSubstr("old-style JPEG"));
}

TEST_F(Tiff, LostPixelsOfJpegInTiffAreAnErrorNotGray) {
    TiffKind kind{"w", COMPRESSION_JPEG, 0, false, 0, 48};
    kind.photometric = PHOTOMETRIC_YCBCR;
    write_tiff_fixture(folder / "a.tif", make_pattern({48, 64}, 3, DType::u8), false, kind);
    auto bytes = test::read_bytes(folder / "a.tif");
    bytes[bytes.size() / 2] = '\xFF';  // an end-of-image marker amid the only strip
    bytes[bytes.size() / 2 + 1] = '\xD9';
    test::write_bytes(folder / "a.tif", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.tif"), HasSubstr("damaged"));
}

TEST_F(Tiff, WhiteIsZeroIsInvertedAndAlphaIsNot) {
    Image image({1, 1}, 2, DType::u8);
    image.as<uint8_t>()[0] = 10;
    image.as<uint8_t>()[1] = 77;
    TiffKind kind;
    kind.photometric = PHOTOMETRIC_MINISWHITE;
    write_tiff_fixture(folder / "a.tif", image, true, kind);
    const auto file = open_image(folder / "a.tif");
    EXPECT_EQ(test::read_part(*file, {0, 0, {1, 1}}).as<uint8_t>()[0], 245);
    EXPECT_EQ(file->read_alpha().as<uint8_t>()[0], 77);
    EXPECT_THAT(file->metadata().not_kept, testing::Contains(testing::HasSubstr("white as zero")));
}

TEST_F(Tiff, WhiteIsZeroIsInvertedInTheRangeOfTheType) {
    TiffKind kind;
    kind.photometric = PHOTOMETRIC_MINISWHITE;
    Image shorts({1, 1}, 1, DType::u16), floats({1, 1}, 1, DType::f32);
    *shorts.as<uint16_t>() = 10;
    *floats.as<float>() = 0.25F;
    write_tiff_fixture(folder / "u16.tif", shorts, false, kind);
    write_tiff_fixture(folder / "f32.tif", floats, false, kind);
    EXPECT_EQ(*load_image(folder / "u16.tif").as<uint16_t>(), 65525);
    EXPECT_EQ(*load_image(folder / "f32.tif").as<float>(), 0.75F);
}

TEST_F(Tiff, PalettesAreExpanded) {
    Image image({1, 2}, 1, DType::u8);
    image.as<uint8_t>()[0] = 3;
    image.as<uint8_t>()[1] = 1;
    TiffKind kind;
    kind.photometric = PHOTOMETRIC_PALETTE;
    for (const uint16_t step : {0x100, 1}) {  // some writers store 8 bits
        TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
        test::set_tiff_tags(tiff, image, false, kind);
        std::vector<uint16_t> red(256);
        std::vector<uint16_t> green(256);
        std::vector<uint16_t> blue(256);
        red[3] = static_cast<uint16_t>(0x11 * step);
        green[3] = static_cast<uint16_t>(0x22 * step);
        blue[1] = static_cast<uint16_t>(0x33 * step);  // the first entry is black
        TIFFSetField(tiff, TIFFTAG_COLORMAP, red.data(), green.data(), blue.data());
        test::write_tiff_pixels(tiff, image, kind);
        TIFFClose(tiff);
        const Image loaded = load_image(folder / "a.tif");
        EXPECT_THAT(std::vector<int>(loaded.as<uint8_t>(), loaded.as<uint8_t>() + 6),
                    testing::ElementsAre(0x11, 0x22, 0, 0, 0, 0x33));
    }
}

TEST_F(Tiff, SamplesOfUndefinedFormatAreUnsigned) {
    const Image image = make_pattern({5, 7}, 1, DType::u16);
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    test::set_tiff_tags(tiff, image, false, {});
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_VOID);
    test::write_tiff_pixels(tiff, image, {});
    TIFFClose(tiff);
    EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image));
}

TEST_F(Tiff, PremultipliedAlphaStaysSo) {
    for (const int64_t channels : {2, 4}) {
        const Image image = make_pattern({5, 5}, channels, DType::u8);
        TiffKind kind;
        kind.extra_sample = EXTRASAMPLE_ASSOCALPHA;
        write_tiff_fixture(folder / "a.tif", image, true, kind);
        const auto file = open_image(folder / "a.tif");
        EXPECT_TRUE(file->metadata().premultiplied_alpha);
        const Image colour = test::read_part(*file, {0, 0, {5, 5}});
        const Image alpha = file->read_alpha();
        save_image({colour.view(), alpha.view(), &file->metadata()}, folder / "b.tif");
        EXPECT_TRUE(open_image(folder / "b.tif")->metadata().premultiplied_alpha) << channels;
        EXPECT_THROW(save_image({colour.view(), alpha.view(), &file->metadata()}, folder / "b.png"), UsageError);
    }
}

TEST_F(Tiff, TilesStayTilesOrAreNamed) {
    for (const uint32_t edge : {16U, 48U, 4112U})
        for (const bool alpha : {false, true}) {
            const Image image = make_pattern({37, 53}, alpha ? 4 : 3, DType::u16);
            test::write_tiff_fixture(folder / "a.tif", image, alpha, {.compression = COMPRESSION_LZW, .tile = edge});
            const auto file = open_image(folder / "a.tif");
            const ImageMetadata metadata = file->metadata();
            const Image pixels = test::read_part(*file, {0, 0, {37, 53}}), opacity = file->read_alpha();
            save_image({pixels.view(), opacity.view(), &metadata}, folder / "b.tif");
            test::expect_parts_equal_whole(folder / "b.tif", pixels);
            const auto written = open_image(folder / "b.tif");
            EXPECT_TRUE(same_bytes(written->read_alpha(), opacity));
            const bool is_kept = edge < 4096;
            EXPECT_EQ(written->metadata().tiff_tile, is_kept ? std::optional(Extent{edge, edge}) : std::nullopt);
            EXPECT_THAT(metadata.not_kept,
                        testing::ElementsAreArray(is_kept ? std::vector<std::string>{}
                                                          : std::vector<std::string>{"tiles of 4112 x 4112"}));
            if (is_kept) {
                EXPECT_THAT(lost_metadata(metadata, "b.tif", true), testing::Contains("size of its tiles"));
                ImageMetadata of_ours = metadata;
                of_ours.tiff_tile = Extent{256, 256};
                EXPECT_THAT(lost_metadata(of_ours, "b.tif", true),
                            testing::Not(testing::Contains("size of its tiles")));
            }
        }
}

TEST_F(Tiff, TilesThatWouldAddManyPixelsAreNone) {
    EXPECT_TRUE(can_write_tiles({256, 256}, {30, 20})) << "few in all";
    EXPECT_TRUE(can_write_tiles({512, 512}, {5000, 300}));
    EXPECT_FALSE(can_write_tiles({4096, 16}, {1, 10000000}));
    EXPECT_FALSE(can_write_tiles({250, 256}, {5000, 5000}));
}

TEST_F(Tiff, StripsAreShortEnoughForOtherReaders) {
    const Image image = make_pattern({1500, 1000}, 1, DType::u16);
    save_image({image.view(), {}, nullptr}, folder / "a.tif");
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "r");
    EXPECT_LE(TIFFStripSize(tiff), 1 << 20);
    EXPECT_EQ(TIFFNumberOfStrips(tiff), 3U);
    TIFFClose(tiff);
    EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image));
}

TEST_F(Tiff, AResolutionOfLessThanADotPerUnitIsRead) {
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    test::set_tiff_tags(tiff, make_pattern({5, 7}, 1, DType::u8), false, {});
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, 0.5);
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, 0.25);
    test::write_tiff_pixels(tiff, make_pattern({5, 7}, 1, DType::u8), {});
    TIFFClose(tiff);
    const auto file = open_image(folder / "a.tif");
    EXPECT_EQ(file->metadata().x_resolution_per_m, 50);
    EXPECT_EQ(file->metadata().y_resolution_per_m, 25);
}

TEST_F(Tiff, AResolutionWithoutAUnitIsNamedWhereItIsLost) {
    ImageMetadata metadata;
    metadata.tiff_resolution = TiffResolution{10, 10, RESUNIT_NONE};  // pixels per micrometre, by ImageJ
    for (const char* other : {"b.png", "b.jpg", "b.npy"})
        EXPECT_THAT(lost_metadata(metadata, other, false), testing::Contains("resolution")) << other;
    EXPECT_THAT(lost_metadata(metadata, "b.tif", false), testing::IsEmpty());
    metadata.tiff_resolution = TiffResolution{1, 1, RESUNIT_NONE};
    EXPECT_THAT(lost_metadata(metadata, "b.png", false), testing::IsEmpty()) << "it says nothing";
}

TEST_F(Tiff, AChannelThatIsNotCalledAlphaStaysSo) {
    const Image image = make_pattern({5, 5}, 4, DType::u8);
    TiffKind kind;
    kind.extra_sample = EXTRASAMPLE_UNSPECIFIED;
    write_tiff_fixture(folder / "a.tif", image, true, kind);
    const auto file = open_image(folder / "a.tif");
    const Image colour = test::read_part(*file, {0, 0, {5, 5}});
    const Image other = file->read_alpha();
    save_image({colour.view(), other.view(), &file->metadata()}, folder / "b.tif");
    EXPECT_TRUE(open_image(folder / "b.tif")->metadata().has_unnamed_channel);
    EXPECT_THAT(lost_metadata(file->metadata(), "b.png", false),
                testing::Contains(testing::HasSubstr("not called alpha")));
    for (const char* plain : {"b.npy", "b.raw"})
        EXPECT_THAT(lost_metadata(file->metadata(), plain, false), testing::IsEmpty()) << "there is no alpha at all";
    kind.extra_sample = EXTRASAMPLE_UNASSALPHA;
    write_tiff_fixture(folder / "a.tif", image, true, kind);
    EXPECT_FALSE(open_image(folder / "a.tif")->metadata().has_unnamed_channel);
    write_tiff_fixture(folder / "a.tif", image, false, {.photometric = PHOTOMETRIC_RGB});
    EXPECT_TRUE(open_image(folder / "a.tif")->metadata().has_unnamed_channel) << "nothing is said of it";
    write_tiff_fixture(folder / "a.tif", make_pattern({5, 5}, 3, DType::u8), false, {});
    EXPECT_FALSE(open_image(folder / "a.tif")->metadata().has_unnamed_channel);
}

/// Two pages; the second one's NewSubfileType.
void write_two_pages(const std::filesystem::path& path, uint32_t second_kind) {
    TIFF* tiff = TIFFOpen(path.c_str(), "w");
    for (const uint32_t kind : {0U, second_kind}) {
        const Image image = make_pattern({20, kind == 0 ? 30 : 10}, 3, DType::u8);
        test::set_tiff_tags(tiff, image, false, {});
        TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, kind);
        test::write_tiff_pixels(tiff, image, {});
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
}

TEST_F(Tiff, WideTypesAreReadInEveryLayout) {
    for (const DType dtype : {DType::i16, DType::u32, DType::f16, DType::f64})
        for (const TiffKind& kind : {TiffKind{}, TiffKind{.mode = "wb"}, TiffKind{.mode = "wb", .planar = true},
                                     TiffKind{.compression = COMPRESSION_LZW, .planar = true, .tile = 16}}) {
            const Image image = make_pattern({41, 35}, 3, dtype);
            write_tiff_fixture(folder / "a.tif", image, false, kind);
            test::expect_parts_equal_whole(folder / "a.tif", image);
        }
}

TEST_F(Tiff, MoreThanOneExtraChannelMakesAllOfThemBands) {
    for (const bool planar : {false, true}) {
        const Image image = make_pattern({9, 11}, 6, DType::u16);
        write_tiff_fixture(folder / "a.tif", image, false, {.planar = planar});
        const auto file = open_image(folder / "a.tif");
        EXPECT_EQ(file->info().channels, 6);
        EXPECT_FALSE(file->info().has_alpha);
        EXPECT_TRUE(same_bytes(test::read_part(*file, {0, 0, {9, 11}}), image));
    }
}

/// Red, green, blue, another band and alpha; or gray with two more.
TEST_F(Tiff, RolesThatBandsLoseAreNamed) {
    const auto not_kept = [&](int channels, int photometric, std::array<uint16_t, 2> kinds) {
        TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
        const Image image = make_pattern({5, 5}, channels, DType::u8);
        test::set_tiff_tags(tiff, image, false, {.photometric = photometric});
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 2, kinds.data());
        test::write_tiff_pixels(tiff, image, {});
        TIFFClose(tiff);
        return open_image(folder / "a.tif")->metadata().not_kept;
    };
    constexpr uint16_t kBand = EXTRASAMPLE_UNSPECIFIED, kAlpha = EXTRASAMPLE_UNASSALPHA;
    const auto colours = HasSubstr("colours"), alpha = HasSubstr("alpha");
    EXPECT_THAT(not_kept(5, PHOTOMETRIC_RGB, {kBand, kAlpha}), testing::ElementsAre(colours, alpha));
    EXPECT_THAT(not_kept(5, PHOTOMETRIC_RGB, {kBand, kBand}), testing::ElementsAre(colours));
    EXPECT_THAT(not_kept(3, PHOTOMETRIC_MINISBLACK, {kBand, kBand}), testing::ElementsAre(colours));
    write_tiff_fixture(folder / "a.tif", make_pattern({5, 5}, 6, DType::u8), false, {});
    EXPECT_THAT(open_image(folder / "a.tif")->metadata().not_kept, testing::IsEmpty()) << "bands stay bands";
    const Image photograph = make_pattern({16, 16}, 3, DType::u8);
    write_tiff_fixture(folder / "a.tif", photograph, false,
                       {.compression = COMPRESSION_JPEG, .photometric = PHOTOMETRIC_YCBCR});
    EXPECT_THAT(open_image(folder / "a.tif")->metadata().not_kept, testing::Not(testing::Contains(colours)));
}

TEST_F(Tiff, AsOneImageMorePagesAreRefusedThumbnailsAreNot) {
    write_two_pages(folder / "pages.tif", 0);
    EXPECT_THAT(test::refusal_of(folder / "pages.tif"), HasSubstr("more than one page"));
    write_two_pages(folder / "thumbnail.tif", FILETYPE_REDUCEDIMAGE);
    EXPECT_TRUE(same_bytes(load_image(folder / "thumbnail.tif"), make_pattern({20, 30}, 3, DType::u8)));
    EXPECT_THAT(open_image(folder / "thumbnail.tif")->metadata().not_kept, testing::ElementsAre(HasSubstr("1 level")));
}

TEST_F(Tiff, UnsupportedKindsAreNamed) {
    const auto refusal = [&](int tag, int value) {
        TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
        const Image image = make_pattern({8, 8}, 4, DType::u8);
        test::set_tiff_tags(tiff, image, true, {});
        if (value == 0) TIFFUnsetField(tiff, static_cast<uint32_t>(tag));
        if (value != 0) TIFFSetField(tiff, static_cast<uint32_t>(tag), value);
        std::vector<std::byte> strip(4096);
        TIFFWriteRawStrip(tiff, 0, strip.data(), static_cast<tmsize_t>(strip.size()));
        TIFFClose(tiff);
        return test::refusal_of(folder / "a.tif");
    };
    EXPECT_THAT(refusal(TIFFTAG_BITSPERSAMPLE, 4), HasSubstr("4-bit"));
    EXPECT_THAT(refusal(TIFFTAG_BITSPERSAMPLE, 64), HasSubstr("64-bit"));
    EXPECT_THAT(refusal(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_INT), HasSubstr("signed"));
    EXPECT_THAT(refusal(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_SEPARATED), HasSubstr("CMYK"));
    EXPECT_THAT(refusal(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_CIELAB), HasSubstr("photometric"));
    EXPECT_THAT(refusal(TIFFTAG_PHOTOMETRIC, 0), HasSubstr("does not say what its samples mean"));
    EXPECT_THAT(refusal(TIFFTAG_IMAGEWIDTH, 2000000000), HasSubstr("cannot hold"));
}

TEST_F(Tiff, LargeFilesBecomeBigTiff) {
    EXPECT_FALSE(needs_big_tiff(uint64_t{4000} << 20U, 0));
    EXPECT_TRUE(needs_big_tiff(uint64_t{4096} << 20U, 0));
    EXPECT_TRUE(needs_big_tiff(uint64_t{4000} << 20U, uint64_t{100} << 20U));
    ImageMetadata metadata;
    metadata.icc_profile.resize(1000);
    metadata.xmp.resize(300);
    metadata.tiff_tags.push_back({.values = std::vector<std::byte>(20)});
    EXPECT_EQ(metadata_bytes(&metadata), 1320U);
}

/// The directory of an uncompressed gray u8 BigTIFF of one strip, which begins at byte `strip`.
std::vector<char> make_big_tiff_header(uint64_t rows, uint64_t columns, uint64_t strip) {
    std::vector<char> bytes{'I', 'I', 43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0};
    const auto put = [&](uint64_t value, int count) {
        for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
    };
    const std::vector<std::pair<int, uint64_t>> tags{{TIFFTAG_IMAGEWIDTH, columns},
                                                     {TIFFTAG_IMAGELENGTH, rows},
                                                     {TIFFTAG_BITSPERSAMPLE, 8},
                                                     {TIFFTAG_COMPRESSION, COMPRESSION_NONE},
                                                     {TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK},
                                                     {TIFFTAG_STRIPOFFSETS, strip},
                                                     {TIFFTAG_SAMPLESPERPIXEL, 1},
                                                     {TIFFTAG_ROWSPERSTRIP, rows},
                                                     {TIFFTAG_STRIPBYTECOUNTS, rows * columns}};
    put(tags.size(), 8);
    for (const auto& [tag, value] : tags) {
        put(static_cast<uint64_t>(tag), 2);
        put(TIFF_LONG8, 2);
        put(1, 8);
        put(value, 8);
    }
    put(0, 8);
    return bytes;
}

TEST_F(Tiff, AStripThatIsTooShortIsDamageThoughTheFileGoesOn) {
    const Image image = make_pattern({4, 8}, 1, DType::u8);
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    test::set_tiff_tags(tiff, image, false, {.strip_rows = 2});
    std::array<std::byte, 16> strip{};
    TIFFWriteRawStrip(tiff, 0, strip.data(), 16);
    TIFFWriteRawStrip(tiff, 1, strip.data(), 15);
    TIFFClose(tiff);
    const auto file = open_image(folder / "a.tif");
    EXPECT_NO_THROW((void)test::read_part(*file, {0, 0, {2, 8}}));
    EXPECT_THROW((void)test::read_part(*file, {2, 0, {2, 8}}), UsageError);
}

TEST_F(Tiff, PartsOfAFileBeyondFourGigabytesAreRead) {
    constexpr uint64_t kNumRows = 70000;
    constexpr uint64_t kColumns = 65536;
    constexpr uint64_t kStrip = 4096;
    test::write_bytes(folder / "a.tif", make_big_tiff_header(kNumRows, kColumns, kStrip));
    std::error_code failure;
    std::filesystem::resize_file(folder / "a.tif", kStrip + kNumRows * kColumns, failure);  // sparse: takes no room
    if (failure) GTEST_SKIP() << "no sparse files here: " << failure.message();
    std::fstream(folder / "a.tif", std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(kStrip + 69990 * kColumns + 1234))
        .write("abc", 3);
    const auto file = open_image(folder / "a.tif");
    EXPECT_TRUE(file->windowed());
    const Image part = test::read_part(*file, {69989, 1233, {3, 5}});
    EXPECT_EQ(std::string(part.as<char>(), 15), std::string("\0\0\0\0\0\0abc\0\0\0\0\0\0", 15));
}

}  // namespace
}  // namespace pb::image
