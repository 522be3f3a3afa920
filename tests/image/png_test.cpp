#include "image/formats/png.hpp"

#include "image/formats/metadata.hpp"
#include "png_fixture.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <random>

namespace pb::image {
namespace {

using test::PngKind;
using test::write_png_fixture;
using testing::HasSubstr;
using Png = test::InFolder;

TEST_F(Png, PalettesAreExpanded) {
    for (const int bits : {1, 2, 4, 8}) {
        PngKind kind{bits, PNG_COLOR_TYPE_PALETTE};
        kind.palette = {{10, 20, 30}, {40, 50, 60}};
        // Two pixels, indices 1 and 0.
        const auto first = static_cast<png_byte>(1U << (8U - static_cast<unsigned>(bits)));
        write_png_fixture(folder / "palette.png", kind, {{first, 0}}, 2);
        const auto file = open_image(folder / "palette.png");
        EXPECT_EQ(file->info().channels, 3);
        EXPECT_FALSE(file->info().has_alpha);
        const Image image = load_image(folder / "palette.png");
        EXPECT_THAT(std::vector<int>(image.as<uint8_t>(), image.as<uint8_t>() + 6),
                    testing::ElementsAre(40, 50, 60, 10, 20, 30));
    }
}

TEST_F(Png, PalettesWithTransparencyHaveAlpha) {
    PngKind kind{8, PNG_COLOR_TYPE_PALETTE};
    kind.palette = {{10, 20, 30}, {40, 50, 60}};
    kind.palette_alpha = {77};
    write_png_fixture(folder / "palette.png", kind, {{1, 0}}, 2);
    const auto file = open_image(folder / "palette.png");
    ASSERT_TRUE(file->info().has_alpha);
    const Image alpha = file->read_alpha();
    EXPECT_EQ(alpha.as<uint8_t>()[0], 255);
    EXPECT_EQ(alpha.as<uint8_t>()[1], 77);
    EXPECT_EQ(load_image(folder / "palette.png").as<uint8_t>()[3], 10);
}

TEST_F(Png, ATransparentColourBecomesAlpha) {
    PngKind kind{8, PNG_COLOR_TYPE_GRAY};
    png_color_16 transparent{};
    transparent.gray = 9;
    kind.transparent = &transparent;
    write_png_fixture(folder / "gray.png", kind, {{9, 10}}, 2);
    const auto file = open_image(folder / "gray.png");
    EXPECT_EQ(file->info().channels, 1);
    const Image alpha = file->read_alpha();
    EXPECT_EQ(alpha.as<uint8_t>()[0], 0);
    EXPECT_EQ(alpha.as<uint8_t>()[1], 255);
}

/// Puts a chunk before the pixels of a file.
void insert_chunk(const std::filesystem::path& path, const std::string& type, const std::string& content) {
    std::vector<char> bytes = test::read_bytes(path);
    std::string chunk;
    for (const int shift : {24, 16, 8, 0})
        chunk += static_cast<char>(content.size() >> static_cast<unsigned>(shift) & 0xFFU);
    const std::string body = type + content;
    const auto crc = crc32(0, reinterpret_cast<const unsigned char*>(body.data()), static_cast<unsigned>(body.size()));
    chunk += body;
    for (const int shift : {24, 16, 8, 0}) chunk += static_cast<char>(crc >> static_cast<unsigned>(shift) & 0xFFU);
    constexpr int64_t kBehindHeader = 8 + 25;
    bytes.insert(bytes.begin() + kBehindHeader, chunk.begin(), chunk.end());
    test::write_bytes(path, bytes);
}

TEST_F(Png, MetadataThatNoOutputKeepsIsNamed) {
    const auto not_kept = [&](const std::string& type, const std::string& content) {
        write_png_fixture(folder / "a.png", PngKind{}, {{1, 2, 3}}, 1);
        insert_chunk(folder / "a.png", type, content);
        return open_image(folder / "a.png")->metadata().not_kept;
    };
    const auto gamma = [](uint32_t value) {
        return std::string{static_cast<char>(value >> 24U), static_cast<char>(value >> 16U & 0xFFU),
                           static_cast<char>(value >> 8U & 0xFFU), static_cast<char>(value & 0xFFU)};
    };
    EXPECT_THAT(not_kept("gAMA", gamma(45455)), testing::IsEmpty()) << "that of sRGB, which readers assume";
    EXPECT_THAT(not_kept("gAMA", gamma(100000)), testing::ElementsAre(HasSubstr("colour tags")));
    EXPECT_THAT(not_kept("sBIT", "\5\5\5"), testing::ElementsAre(HasSubstr("significant bits")));
    EXPECT_THAT(not_kept("tIME", std::string(7, '\1')), testing::ElementsAre(HasSubstr("time")));
    EXPECT_THAT(not_kept("bKGD", std::string(6, '\0')), testing::ElementsAre(HasSubstr("background")));
    EXPECT_THAT(not_kept("oFFs", std::string(9, '\0')), testing::ElementsAre(HasSubstr("position")));
    for (const char* type : {"cICP", "mDCV", "cLLI"})
        EXPECT_THAT(not_kept(type, std::string(8, '\1')), testing::ElementsAre(HasSubstr("colour tags"))) << type;
    EXPECT_THAT(not_kept("sTER", std::string(1, '\1')), testing::ElementsAre("stereo layout"));
    EXPECT_THAT(not_kept("prVt", "abc"), testing::ElementsAre("chunk prVt")) << "may be copied whatever the pixels";
    EXPECT_THAT(not_kept("prVT", "abc"), testing::IsEmpty()) << "belongs to the pixels of this file";
    for (const std::string& damaged :
         {std::string("name"), std::string("name\0", 5), std::string("name\0\0not zlib", 14)})
        EXPECT_THAT(not_kept("iCCP", damaged), testing::ElementsAre("damaged colour profile"));
}

TEST_F(Png, TextsAndXmpSurvive) {
    write_png_fixture(folder / "a.png", PngKind{}, {{1, 2, 3}}, 1);
    const std::string comment("Comment\0by hand", 15), other("XML:com.adobe.xmp\0\1\0\0\0packed", 28);
    insert_chunk(folder / "a.png", "iTXt", std::string(kXmpKeyword) + "<x/>");
    insert_chunk(folder / "a.png", "tEXt", comment);
    insert_chunk(folder / "a.png", "iTXt", other);
    const ImageMetadata metadata = open_image(folder / "a.png")->metadata();
    EXPECT_EQ(metadata.xmp, test::bytes_of("<x/>"));
    EXPECT_THAT(lost_metadata(metadata, "b.png", false), testing::IsEmpty());
    EXPECT_THAT(lost_metadata(metadata, "b.webp", false), testing::ElementsAre("text"));
    save_image({load_image(folder / "a.png").view(), {}, &metadata}, folder / "b.png");
    const ImageMetadata written = open_image(folder / "b.png")->metadata();
    EXPECT_EQ(written.xmp, metadata.xmp);
    ASSERT_EQ(written.format_blocks.size(), 2);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(written.format_blocks[i].type, metadata.format_blocks[i].type);
        EXPECT_EQ(written.format_blocks[i].content, metadata.format_blocks[i].content);
    }
}

TEST_F(Png, AnAspectRatioIsNoResolution) {
    PngKind kind;
    kind.resolution_unit = PNG_RESOLUTION_METER;
    write_png_fixture(folder / "metres.png", kind, {{1, 2, 3}}, 1);
    EXPECT_EQ(open_image(folder / "metres.png")->metadata().x_resolution_per_m, 3000);
    kind.resolution_unit = PNG_RESOLUTION_UNKNOWN;
    write_png_fixture(folder / "ratio.png", kind, {{1, 2, 3}}, 1);
    EXPECT_FALSE(open_image(folder / "ratio.png")->metadata().x_resolution_per_m);
    EXPECT_THAT(open_image(folder / "ratio.png")->metadata().not_kept, testing::IsEmpty()) << "square pixels";
    write_png_fixture(folder / "wide.png", {}, {{1, 2, 3}}, 1);
    insert_chunk(folder / "wide.png", "pHYs", std::string("\0\0\0\2\0\0\0\1\0", 9));
    EXPECT_THAT(open_image(folder / "wide.png")->metadata().not_kept, testing::ElementsAre("ratio of a pixel's sides"));
}

/// Some programs put the mark of JPEG before the block.
TEST_F(Png, HasItsExifOnceAndWithoutAMark) {
    const std::vector<std::byte> exif = make_orientation_exif(6);
    const std::string block(reinterpret_cast<const char*>(exif.data()), exif.size());
    write_png_fixture(folder / "a.png", {}, {{1, 2, 3}}, 1);
    insert_chunk(folder / "a.png", "eXIf", std::string(kExifMark) + block);
    const auto file = open_image(folder / "a.png");
    EXPECT_EQ(file->metadata().exif, exif);
    const Image image = test::read_part(*file, {0, 0, {1, 1}});
    save_image({image.view(), {}, &file->metadata()}, folder / "b.png");
    const std::vector<char> bytes = test::read_bytes(folder / "b.png");
    const std::string written(bytes.begin(), bytes.end());
    EXPECT_NE(written.find("eXIf"), std::string::npos);
    EXPECT_EQ(written.find("eXIf"), written.rfind("eXIf")) << "PNG allows one";
    EXPECT_EQ(open_image(folder / "b.png")->metadata().exif, exif);
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(Png, ExifThatIsNoTiffIsNamedAndNotCopied) {
    const auto read = [&](const std::string& block) {
        write_png_fixture(folder / "a.png", {}, {{1, 2, 3}}, 1);
        insert_chunk(folder / "a.png", "eXIf", block);
        return open_image(folder / "a.png")->metadata();
    };
    using namespace std::string_literals;
    for (const std::string& damaged : {""s, "of a camera"s, std::string(kExifMark), "II*\0\10\0\0"s, "II\0*\10\0\0\0"s,
                                       "MM*\0\0\0\0\10"s, "IM*\0\10\0\0\0"s}) {
        EXPECT_TRUE(read(damaged).exif.empty());
        EXPECT_THAT(read(damaged).not_kept, testing::ElementsAre("damaged EXIF")) << damaged;
    }
    for (const std::string& whole : {"II*\0\10\0\0\0"s, "MM\0*\0\0\0\10"s}) {
        EXPECT_EQ(text_of(read(whole).exif), whole);
        EXPECT_THAT(read(whole).not_kept, testing::IsEmpty());
    }
}

/// A chunk iCCP with a profile of these bytes.
std::string profile_chunk(const std::string& profile) {
    uLongf length = compressBound(profile.size());
    std::string stream(length, '\0');
    compress(reinterpret_cast<Bytef*>(stream.data()), &length, reinterpret_cast<const Bytef*>(profile.data()),
             profile.size());
    return std::string("name\0\0", 6) + stream.substr(0, length);
}

/// As libpng does. Each chunk is put before the others.
TEST_F(Png, OfSeveralProfilesAndExifBlocksTheFirstCounts) {
    const std::string first("II*\0\10\0\0\0first", 13), second("MM\0*\0\0\0\10second", 14);
    write_png_fixture(folder / "a.png", {}, {{1, 2, 3}}, 1);
    for (const std::string& block : {second, second, first}) insert_chunk(folder / "a.png", "eXIf", block);
    for (const char* profile : {"third", "second", "first"})
        insert_chunk(folder / "a.png", "iCCP", profile_chunk(profile));
    const ImageMetadata metadata = open_image(folder / "a.png")->metadata();
    EXPECT_EQ(text_of(metadata.exif), first);
    EXPECT_EQ(text_of(metadata.icc_profile), "first");
    EXPECT_THAT(metadata.not_kept, testing::ElementsAre("a second colour profile", "a second packet of EXIF"));
}

/// Each profile takes time to inflate, whether it is whole or not.
TEST_F(Png, BehindADamagedProfileNoneIsRead) {
    write_png_fixture(folder / "a.png", {}, {{1, 2, 3}}, 1);
    insert_chunk(folder / "a.png", "iCCP", profile_chunk("whole"));
    insert_chunk(folder / "a.png", "iCCP", "damaged");
    const ImageMetadata metadata = open_image(folder / "a.png")->metadata();
    EXPECT_TRUE(metadata.icc_profile.empty());
    EXPECT_THAT(metadata.not_kept, testing::ElementsAre("damaged colour profile", "a second colour profile"));
}

/// The bytes of each chunk of a kind, with its length, type and checksum.
std::vector<size_t> chunk_bytes(const std::filesystem::path& path, const std::string& type) {
    const std::vector<char> bytes = test::read_bytes(path);
    std::vector<size_t> found;
    constexpr size_t kSignature = 8, kFrame = 12;
    for (size_t offset = kSignature; offset + kFrame <= bytes.size();) {
        size_t length = 0;
        for (size_t i = 0; i < 4; ++i) length = length << 8U | static_cast<unsigned char>(bytes[offset + i]);
        if (type == std::string(&bytes[offset + 4], 4)) found.push_back(length + kFrame);
        offset += length + kFrame;
    }
    return found;
}

/// libpng refuses chunks of more than 8,000,000 bytes unless it is told otherwise, OpenCV such with their frame.
TEST_F(Png, WhatOtherReadersTakeIsKeptAndMoreIsNamed) {
    const Image image = test::make_pattern({4, 4}, 3, DType::u8);
    const auto make = [](size_t profile, size_t exif, size_t xmp) {
        ImageMetadata metadata{.icc_profile = std::vector<std::byte>(profile),
                               .exif = test::bytes_of(std::string("II*\0\10\0\0\0", 8)),
                               .xmp = std::vector(xmp, std::byte{'x'})};
        std::mt19937 random;  // which Deflate makes longer
        for (std::byte& each : metadata.icc_profile) each = static_cast<std::byte>(random());
        metadata.exif.resize(exif, std::byte{'e'});
        return metadata;
    };
    const ImageMetadata most = make(7'990'000, 7'999'988, 7'999'966);
    EXPECT_THAT(lost_metadata(most, "a.png", false), testing::IsEmpty());
    save_image({image.view(), {}, &most}, folder / "a.png");
    EXPECT_THAT(chunk_bytes(folder / "a.png", "eXIf"), testing::ElementsAre(8'000'000));
    EXPECT_THAT(chunk_bytes(folder / "a.png", "iTXt"), testing::ElementsAre(8'000'000));
    EXPECT_THAT(chunk_bytes(folder / "a.png", "iCCP"),
                testing::ElementsAre(testing::AllOf(testing::Gt(7'990'000), testing::Le(8'000'000))));
    const ImageMetadata read = open_image(folder / "a.png")->metadata();
    EXPECT_TRUE(read.icc_profile == most.icc_profile && read.exif == most.exif && read.xmp == most.xmp);
    const ImageMetadata more = make(7'990'001, 7'999'989, 7'999'967);
    EXPECT_THAT(
        lost_metadata(more, "a.png", false),
        testing::ElementsAre("colour profile of more than 7.99 MB", "EXIF of more than 8 MB", "XMP of more than 8 MB"));
    EXPECT_THAT(lost_metadata(more, "a.webp", false), testing::IsEmpty());
    save_image({image.view(), {}, &more}, folder / "a.png");
    for (const char* type : {"eXIf", "iTXt", "iCCP"})
        EXPECT_THAT(chunk_bytes(folder / "a.png", type), testing::IsEmpty()) << type;
}

TEST_F(Png, NothingStandsBehindADeflatedProfile) {
    const ImageMetadata metadata{.icc_profile = std::vector<std::byte>(1000)};
    save_image({test::make_pattern({4, 4}, 3, DType::u8).view(), {}, &metadata}, folder / "a.png");
    EXPECT_THAT(chunk_bytes(folder / "a.png", "iCCP"), testing::ElementsAre(testing::Lt(100)));
}

TEST_F(Png, InterlacedFilesReadAsOthers) {
    std::vector<std::vector<png_byte>> rows;
    for (png_byte y = 0; y < 19; ++y) {
        rows.emplace_back();
        for (png_byte x = 0; x < 23 * 2; ++x) rows.back().push_back(static_cast<png_byte>(y * 7 + x * 5));
    }
    write_png_fixture(folder / "a.png", {16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7}, rows, 23);
    const Image image = load_image(folder / "a.png");
    ASSERT_EQ(image.dtype(), DType::u16);
    for (size_t y = 0; y < 19; ++y)
        for (size_t x = 0; x < 23; ++x)
            ASSERT_EQ(image.as<uint16_t>()[y * 23 + x], rows[y][2 * x] * 256 + rows[y][2 * x + 1]);
}

TEST_F(Png, FewBitsOfGrayAreRefusedByName) {
    for (const int bits : {1, 2, 4}) {
        write_png_fixture(folder / "few.png", {bits, PNG_COLOR_TYPE_GRAY}, {{0x12}}, 2);
        EXPECT_THAT(test::refusal_of(folder / "few.png"), HasSubstr(std::to_string(bits) + "-bit gray"));
    }
}

/// Makes the header of a PNG say another size, depth and kind of colours, with the checksum that goes with it.
void write_header(std::vector<char>& png, uint32_t width, uint32_t height, char bits, char colour) {
    for (size_t i = 0; i < 4; ++i) {
        png[16 + i] = static_cast<char>(width >> (24 - 8 * i));
        png[20 + i] = static_cast<char>(height >> (24 - 8 * i));
    }
    png[24] = bits;
    png[25] = colour;
    const auto* chunk = reinterpret_cast<const unsigned char*>(png.data()) + 12;
    uint32_t crc = 0xFFFFFFFFU;
    for (int i = 0; i < 17; ++i) {
        crc ^= chunk[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    crc = ~crc;
    for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
}

TEST_F(Png, AHeaderThatTheFileCannotFillIsRefusedBeforeAllocating) {
    write_png_fixture(folder / "a.png", {}, {{1, 2, 3, 4, 5, 6}}, 2);
    auto bytes = test::read_bytes(folder / "a.png");
    write_header(bytes, 0x7F000002, 0x7F000003, 8, 0);
    test::write_bytes(folder / "a.png", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.png"), HasSubstr("cannot hold"));
    write_header(bytes, 2147352580, 1073807362, 16, 6);  // 2^64 + 64 bytes
    test::write_bytes(folder / "b.png", bytes);
    EXPECT_THAT(test::refusal_of(folder / "b.png"), HasSubstr("1073807362x2147352580 px"));
}

}  // namespace
}  // namespace pb::image
