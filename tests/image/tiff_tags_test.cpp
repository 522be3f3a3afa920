#include "tiff_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace pb::image {
namespace {

using test::make_pattern;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using TiffTags = test::InFolder;

/// Tags that libtiff does not know by itself, as GDAL makes them known.
void know_gdal_tags(TIFF* tiff) {
    static const TIFFFieldInfo kFields[] = {
        {33550, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelPixelScale")},
        {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GDAL_METADATA")},
        {42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GDAL_NODATA")}};
    TIFFMergeFieldInfo(tiff, kFields, 3);
}

/// A gray file; `set` adds tags.
template <class Set>
void write_file(const std::filesystem::path& path, const Set& set, const test::TiffKind& kind = {}) {
    const Image image = make_pattern({20, 30}, 1, DType::u16);
    TIFF* tiff = TIFFOpen(path.c_str(), kind.mode);
    know_gdal_tags(tiff);
    test::set_tiff_tags(tiff, image, false, kind);
    set(tiff);
    test::write_tiff_pixels(tiff, image, kind);
    TIFFClose(tiff);
}

std::vector<uint16_t> numbers_of(const std::vector<TiffTag>& tags) {
    std::vector<uint16_t> numbers;
    for (const TiffTag& tag : tags) numbers.push_back(tag.number);
    return numbers;
}

std::string text_of(const ImageMetadata& metadata, uint16_t number) {
    for (const TiffTag& tag : metadata.tiff_tags)
        if (tag.number == number) return reinterpret_cast<const char*>(tag.values.data());
    return "(none)";
}

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
}

TEST_F(TiffTags, ThePositionSurvivesUnlessTheImageIsCropped) {
    write_file(folder / "a.tif", [](TIFF* tiff) {
        TIFFSetField(tiff, TIFFTAG_XPOSITION, 2.5F);
        TIFFSetField(tiff, TIFFTAG_YPOSITION, 0.75F);
    });
    const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
    EXPECT_THAT(lost_metadata(metadata, "b.tif", false), IsEmpty());
    EXPECT_THAT(lost_metadata(metadata, "b.png", false), ElementsAre("position (only .tif holds it)"));
    EXPECT_THAT(lost_metadata(metadata_of_part(metadata), "b.tif", false),
                ElementsAre("position (the image is cropped)"));
    save_image({make_pattern({20, 30}, 1, DType::u16).view(), {}, &metadata}, folder / "b.tif");
    const ImageMetadata written = open_image(folder / "b.tif")->metadata();
    ASSERT_TRUE(written.tiff_position);
    EXPECT_EQ(written.tiff_position->x, 2.5F);
    EXPECT_EQ(written.tiff_position->y, 0.75F);
}

/// Makes the rational number of a tag negative, in a little-endian file.
void negate_tag(const std::filesystem::path& path, uint16_t number) {
    constexpr char kRational = 5, kSignedRational = 10;
    std::vector<char> bytes = test::read_bytes(path);
    const std::string head{
        static_cast<char>(number & 0xFFU), static_cast<char>(number >> 8U), kRational, 0, 1, 0, 0, 0};
    const auto entry = std::search(bytes.begin(), bytes.end(), head.begin(), head.end());
    ASSERT_NE(entry, bytes.end());
    entry[2] = kSignedRational;
    uint32_t place = 0;
    std::memcpy(&place, &entry[8], sizeof place);
    int32_t numerator = 0;
    std::memcpy(&numerator, &bytes[place], sizeof numerator);
    numerator = -numerator;
    std::memcpy(&bytes[place], &numerator, sizeof numerator);
    test::write_bytes(path, bytes);
}

/// Stages have such places, and libtiff does not write them.
TEST_F(TiffTags, APositionBelowZeroIsNamedAndTheFileIsWritten) {
    write_file(folder / "a.tif",
               [](TIFF* tiff) {
                   TIFFSetField(tiff, TIFFTAG_XPOSITION, 2.5F);
                   TIFFSetField(tiff, TIFFTAG_YPOSITION, 0.75F);
               },
               {.mode = "wl"});
    negate_tag(folder / "a.tif", TIFFTAG_XPOSITION);
    const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
    EXPECT_THAT(metadata.not_kept, ElementsAre("position (-2.5; 0.75)"));
    save_image({make_pattern({20, 30}, 1, DType::u16).view(), {}, &metadata}, folder / "b.tif");
    EXPECT_FALSE(open_image(folder / "b.tif")->metadata().tiff_position);
}

/// Says of a tag of bytes, in a big-endian file, that it has numbers of 32 bits.
void call_tag_long(const std::filesystem::path& path, uint16_t number, uint32_t num_bytes) {
    constexpr char kUndefined = 7, kLong = 4;
    std::vector<char> bytes = test::read_bytes(path);
    const std::string head{static_cast<char>(number >> 8U), static_cast<char>(number & 0xFFU), 0, kUndefined, 0, 0, 0,
                           static_cast<char>(num_bytes)};
    const auto entry = std::search(bytes.begin(), bytes.end(), head.begin(), head.end());
    ASSERT_NE(entry, bytes.end());
    entry[3] = kLong;
    entry[7] = static_cast<char>(num_bytes / 4);
    test::write_bytes(path, bytes);
}

/// Old programs call IPTC numbers of 32 bits, whose bytes libtiff then swaps.
TEST_F(TiffTags, IptcOfABigEndianFileKeepsTheOrderOfItsBytes) {
    const std::string iptc("\x1c\x02x\0\x03sea\x1c\x02P\0\x03me", 16);
    for (const bool is_long : {false, true}) {
        SCOPED_TRACE(is_long);
        write_file(folder / "a.tif",
                   [&](TIFF* tiff) {
                       TIFFSetField(tiff, TIFFTAG_RICHTIFFIPTC, static_cast<uint32_t>(iptc.size()), iptc.data());
                   },
                   {.mode = "wb"});
        if (is_long) call_tag_long(folder / "a.tif", TIFFTAG_RICHTIFFIPTC, static_cast<uint32_t>(iptc.size()));
        const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
        ASSERT_THAT(numbers_of(metadata.tiff_tags), ElementsAre(TIFFTAG_RICHTIFFIPTC));
        EXPECT_EQ(metadata.tiff_tags[0].values, test::bytes_of(iptc));
    }
}

TEST_F(TiffTags, TagsThatLibtiffDoesNotListAreNamed) {
    const auto not_kept = [&](const auto& set) {
        write_file(folder / "a.tif", set);
        return joined(open_image(folder / "a.tif")->metadata().not_kept);
    };
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_MINSAMPLEVALUE, 3); }), "MinSampleValue");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_MAXSAMPLEVALUE, 300); }), "MaxSampleValue");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_SMINSAMPLEVALUE, 3.0); }), "SMinSampleValue");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_SMAXSAMPLEVALUE, 3.0); }), "SMaxSampleValue");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_THRESHHOLDING, 1); }), "Threshholding");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_HALFTONEHINTS, 1, 2); }), "HalftoneHints");
    EXPECT_EQ(not_kept([](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_PAGENUMBER, 0, 2); }), "PageNumber");
}

TEST_F(TiffTags, XmpSurvivesInEveryFormatThatHoldsIt) {
    const std::string packet = "<x:xmpmeta/>";
    write_file(folder / "a.tif", [&](TIFF* tiff) {
        TIFFSetField(tiff, TIFFTAG_XMLPACKET, static_cast<uint32_t>(packet.size()), packet.data());
    });
    const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
    EXPECT_EQ(metadata.xmp, test::bytes_of(packet));
    EXPECT_THAT(metadata.tiff_tags, IsEmpty());
    EXPECT_THAT(metadata.not_kept, IsEmpty());
    for (const std::string name : {"b.tif", "b.png", "b.webp", "b.jpg"}) {
        EXPECT_THAT(lost_metadata(metadata, name, false), IsEmpty()) << name;
        save_image({make_pattern({20, 30}, 1, DType::u8).view(), {}, &metadata}, folder / name);
        EXPECT_EQ(open_image(folder / name)->metadata().xmp, metadata.xmp) << name;
    }
    for (const std::string name : {"b.bmp", "b.npy", "b.raw"})
        EXPECT_THAT(lost_metadata(metadata, name, false), ElementsAre("XMP")) << name;
}

TEST_F(TiffTags, NodataIsReadAsANumber) {
    const auto nodata_of = [&](const char* text) {
        write_file(folder / "a.tif", [&](TIFF* tiff) { TIFFSetField(tiff, 42113, text); });
        return open_image(folder / "a.tif")->metadata().nodata;
    };
    EXPECT_EQ(nodata_of("-9999"), -9999);
    for (const char* text : {" 1.5e3 ", "1500\n", "\t1500 \r\n"}) EXPECT_EQ(nodata_of(text), 1500) << text;
    EXPECT_EQ(nodata_of("-inf"), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(nodata_of("nan").value_or(0)));
    EXPECT_EQ(nodata_of("none"), std::nullopt);
    write_file(folder / "b.tif", [](TIFF*) {});
    EXPECT_EQ(open_image(folder / "b.tif")->metadata().nodata, std::nullopt);
    EXPECT_THAT(open_image(folder / "b.tif")->metadata().tiff_tags, IsEmpty());
}

TEST_F(TiffTags, ThoseThatHoldAreWrittenAgainWhateverTheByteOrder) {
    const double scale[] = {0.5, 0.25, 0};
    for (const char* mode : {"wl", "wb", "w8"}) {
        test::TiffKind kind;
        kind.mode = mode;
        const auto set = [&](TIFF* tiff) {
            TIFFSetField(tiff, 33550, 3, scale);
            TIFFSetField(tiff, TIFFTAG_DATETIME, "2024:05:06 07:08:09");
            TIFFSetField(tiff, TIFFTAG_SOFTWARE, "somebody 1.0");
        };
        write_file(folder / "a.tif", set, kind);
        const auto file = open_image(folder / "a.tif");
        const Image image = load_image(folder / "a.tif");
        save_image({image.view(), {}, &file->metadata()}, folder / "b.tif");
        const auto copy = open_image(folder / "b.tif");
        ASSERT_THAT(numbers_of(copy->metadata().tiff_tags), ElementsAre(306, 33550)) << mode;
        const TiffTag& tag = copy->metadata().tiff_tags.back();
        EXPECT_EQ(tag.count, 3U);
        EXPECT_EQ(std::memcmp(tag.values.data(), scale, sizeof scale), 0);
        EXPECT_THAT(lost_metadata(file->metadata(), "b.tif", false), IsEmpty()) << "Software is that of the input";
        EXPECT_EQ(joined(lost_metadata(file->metadata(), "b.png", false)),
                  "DateTime, GeoTIFF tags (only .tif holds them)");
        EXPECT_THAT(lost_metadata(copy->metadata(), "c.tif", false), IsEmpty());
    }
}

/// Replaces each '|' of a text in the file by NUL. libtiff writes texts of one string only.
void divide_text(const std::filesystem::path& path, std::string text) {
    std::vector<char> bytes = test::read_bytes(path);
    const auto begin = std::search(bytes.begin(), bytes.end(), text.begin(), text.end());
    ASSERT_NE(begin, bytes.end());
    std::replace(begin, begin + static_cast<std::ptrdiff_t>(text.size()), '|', '\0');
    test::write_bytes(path, bytes);
}

std::string with_nuls(std::string text) {
    std::ranges::replace(text, '|', '\0');
    return text + '\0';
}

/// Photographer and editor (TIFF 6, Copyright). A text of up to four bytes, in BigTIFF eight, lies in the entry itself.
TEST_F(TiffTags, TextsOfSeveralStringsSurvive) {
    const std::string copyright = "photographer|editor|", model = "padded||||||||||||", host = "|of no name";
    for (const std::string artist : {"a|b", "ab|c", "abc|efg", "abc|efgh"})
        for (const char* mode : {"wl", "wb", "w8"}) {
            const auto set = [&](TIFF* tiff) {
                TIFFSetField(tiff, TIFFTAG_MODEL, model.c_str());
                TIFFSetField(tiff, TIFFTAG_ARTIST, artist.c_str());
                TIFFSetField(tiff, TIFFTAG_HOSTCOMPUTER, host.c_str());
                TIFFSetField(tiff, TIFFTAG_COPYRIGHT, copyright.c_str());
            };
            write_file(folder / "a.tif", set, {.mode = mode});
            for (const std::string& text : {artist, copyright, model, host}) divide_text(folder / "a.tif", text);
            const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
            EXPECT_THAT(lost_metadata(metadata, "b.tif", false), IsEmpty());
            save_image({make_pattern({20, 30}, 1, DType::u16).view(), {}, &metadata}, folder / "b.tif");
            const ImageMetadata written = open_image(folder / "b.tif")->metadata();
            for (const auto* tags : {&metadata.tiff_tags, &written.tiff_tags}) {
                ASSERT_THAT(numbers_of(*tags), ElementsAre(272, 315, 316, 33432)) << mode;
                EXPECT_EQ(tags->at(0).values, test::bytes_of(with_nuls("padded"))) << "that is one string";
                EXPECT_EQ(tags->at(1).values, test::bytes_of(with_nuls(artist)));
                EXPECT_EQ(tags->at(2).values, test::bytes_of(with_nuls(host)));
                EXPECT_EQ(tags->at(3).values, test::bytes_of(with_nuls(copyright)));
                for (const TiffTag& tag : *tags) EXPECT_EQ(tag.count, tag.values.size());
            }
        }
}

TEST_F(TiffTags, ATextThatLacksItsLastNulGetsIt) {
    write_file(folder / "a.tif", [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_COPYRIGHT, "photographer|editor"); },
               {.mode = "wl"});
    divide_text(folder / "a.tif", "photographer|editor");
    std::vector<char> bytes = test::read_bytes(folder / "a.tif");
    const std::string head("\x98\x82\2\0\x14\0\0\0", 8);  // Copyright, ASCII, 20 bytes
    const auto entry = std::search(bytes.begin(), bytes.end(), head.begin(), head.end());
    ASSERT_NE(entry, bytes.end());
    entry[4] = 19;
    test::write_bytes(folder / "a.tif", bytes);
    const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
    EXPECT_EQ(metadata.tiff_tags.at(0).values, test::bytes_of(std::string("photographer\0editor\0", 20)));
    EXPECT_EQ(metadata.tiff_tags.at(0).count, 20U);
}

TEST_F(TiffTags, OfPlanesThatAreInterleavedTheArrangementIsLeftOut) {
    const Image image = make_pattern({20, 30}, 3, DType::u16);
    for (const bool planar : {false, true}) {
        const test::TiffKind kind{.planar = planar};
        TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
        test::set_tiff_tags(tiff, image, false, kind);
        TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, "{\"shape\": [3, 20, 30]}");
        TIFFSetField(tiff, TIFFTAG_DATETIME, "2024:05:06 07:08:09");
        test::write_tiff_pixels(tiff, image, kind);
        TIFFClose(tiff);
        const auto numbers = numbers_of(open_image(folder / "a.tif")->metadata().tiff_tags);
        EXPECT_EQ(numbers, planar ? (std::vector<uint16_t>{306}) : (std::vector<uint16_t>{270, 306}));
    }
}

TEST_F(TiffTags, OfImageJAreNotThoseOfOneImage) {
    static const TIFFFieldInfo kCounts{
        50838, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_LONG, FIELD_CUSTOM, 1, 1, const_cast<char*>("Counts")};
    write_file(folder / "a.tif", [&](TIFF* tiff) {
        const uint32_t counts[] = {12, 4};
        TIFFMergeFieldInfo(tiff, &kCounts, 1);
        TIFFSetField(tiff, 50838, 2, counts);
    });
    EXPECT_THAT(open_image(folder / "a.tif")->metadata().tiff_tags, IsEmpty());
}

TEST_F(TiffTags, ATransferFunctionIsNamed) {
    const std::vector<uint16_t> curve(65536);
    write_file(folder / "a.tif", [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_TRANSFERFUNCTION, curve.data()); });
    EXPECT_THAT(open_image(folder / "a.tif")->metadata().not_kept, ElementsAre("TransferFunction"));
}

TEST_F(TiffTags, DirectoriesOfExifAndGpsAndUnknownTagsAreNamed) {
    static const TIFFFieldInfo kPrivate{65000, 1, 1, TIFF_SHORT, FIELD_CUSTOM, 1, 0, const_cast<char*>("Private")};
    write_file(folder / "a.tif", [&](TIFF* tiff) {
        TIFFMergeFieldInfo(tiff, &kPrivate, 1);
        TIFFSetField(tiff, TIFFTAG_EXIFIFD, uint64_t{8});
        TIFFSetField(tiff, TIFFTAG_GPSIFD, uint64_t{8});
        TIFFSetField(tiff, 65000, 7);
    });
    EXPECT_THAT(open_image(folder / "a.tif")->metadata().not_kept,
                testing::UnorderedElementsAre("EXIF", "GPS position", "tag 65000"));
}

TEST_F(TiffTags, StatisticsOfTheInputAreTakenOutOfGdalsMetadata) {
    const std::string before = "<GDALMetadata><Item name=\"A\">1</Item>";
    const std::string statistics = "<Item name=\"STATISTICS_MEAN\" sample=\"0\">2</Item>";
    write_file(folder / "a.tif", [&](TIFF* tiff) {
        TIFFSetField(tiff, 42112, (before + statistics + statistics + "</GDALMetadata>").c_str());
    });
    const ImageMetadata metadata = open_image(folder / "a.tif")->metadata();
    EXPECT_EQ(text_of(metadata, 42112), before + "</GDALMetadata>");
    EXPECT_EQ(joined(lost_metadata(metadata, "b.tif", false)), "GDAL's statistics");
}

TEST_F(TiffTags, APartHasNoGeoreferenceAndNoDescriptionOfTheWhole) {
    const double scale[] = {0.5, 0.25, 0};
    const auto part_of = [&](const char* description) {
        write_file(folder / "a.tif", [&](TIFF* tiff) {
            TIFFSetField(tiff, 33550, 3, scale);
            TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, description);
        });
        return metadata_of_part(open_image(folder / "a.tif")->metadata());
    };
    EXPECT_THAT(numbers_of(part_of("the valley").tiff_tags), ElementsAre(270));
    for (const char* description : {"<?xml?><OME>", "{\"shape\": [20, 30]}"}) {
        const ImageMetadata part = part_of(description);
        EXPECT_THAT(part.tiff_tags, IsEmpty());
        EXPECT_THAT(joined(lost_metadata(part, "b.tif", false)), HasSubstr("GeoTIFF tags (the image is cropped)"));
        EXPECT_THAT(part.not_kept, Contains("ImageDescription (the image is cropped)"));
    }
}

TEST_F(TiffTags, CompressionComesBackWhereItLosesNothing) {
    for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
        test::TiffKind kind;
        kind.compression = compression;
        write_file(
            folder / "a.tif", [](TIFF*) {}, kind);
        const auto file = open_image(folder / "a.tif");
        const Image image = load_image(folder / "a.tif");
        save_image({image.view(), {}, &file->metadata()}, folder / "b.tif");
        EXPECT_EQ(open_image(folder / "b.tif")->metadata().tiff_compression, compression);
        EXPECT_TRUE(test::same_bytes(load_image(folder / "b.tif"), image));
        EXPECT_THAT(lost_metadata(file->metadata(), "b.tif", false), IsEmpty());
        EXPECT_EQ(lost_metadata(file->metadata(), "b.tif", true).empty(), compression == COMPRESSION_NONE);
        EXPECT_THAT(lost_metadata(file->metadata(), "b.png", true), IsEmpty());
    }
}

}  // namespace
}  // namespace pb::image
