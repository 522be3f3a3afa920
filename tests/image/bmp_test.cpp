#include "image_support.hpp"

#include <gmock/gmock.h>

#include <fstream>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Bmp = test::InFolder;

std::string number(uint32_t value, size_t bytes = 4) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
}

/// A file with the shortest header.
struct BmpKind {
    int32_t width = 2;
    int32_t height = 2;
    uint32_t bits = 24;
    uint32_t compression = 0;
    uint32_t colours = 0;
    std::string between = "";  // masks or palette
    std::string rows = "";
    uint32_t info_bytes = 40;
};

void write_bmp_fixture(const std::filesystem::path& path, const BmpKind& kind) {
    const auto begin = static_cast<uint32_t>(14 + 40 + kind.between.size());
    std::string text = "BM" + number(begin + static_cast<uint32_t>(kind.rows.size())) + number(0) + number(begin);
    text += number(kind.info_bytes) + number(static_cast<uint32_t>(kind.width)) +
            number(static_cast<uint32_t>(kind.height)) + number(1, 2) + number(kind.bits, 2) + number(kind.compression);
    text += number(0) + number(0) + number(0) + number(kind.colours) + number(0) + kind.between + kind.rows;
    test::write_bytes(path, {text.begin(), text.end()});
}

std::vector<int> samples_of(const std::filesystem::path& path) {
    const Image image = load_image(path);
    return {image.as<uint8_t>(), image.as<uint8_t>() + image.bytes().size()};
}

const std::string kRows("\1\2\3\4\5\6\0\0\7\10\11\12\13\14\0\0", 16);  // the lower row first, padded to 8 bytes

TEST_F(Bmp, RowsAreReadFromEitherEnd) {
    write_bmp_fixture(folder / "a.bmp", {.rows = kRows});
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4));
    write_bmp_fixture(folder / "a.bmp", {.height = -2, .rows = kRows});
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10));
}

TEST_F(Bmp, PalettesAreColoursOrGrays) {
    const std::string colours("\1\2\3\0\4\5\6\0", 8);
    const std::string grays("\7\7\7\0\3\3\3\0", 8);
    BmpKind kind{.height = 1, .bits = 8, .colours = 2, .between = colours, .rows = std::string("\1\0\0\0", 4)};
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(6, 5, 4, 3, 2, 1));
    kind.between = grays;
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(3, 7));
    kind.rows[0] = 2;
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(test::refusal_of(folder / "a.bmp"), AllOf(HasSubstr("row 0"), HasSubstr("colour 2")));
    kind.rows[0] = 1;
    kind.colours = 0;  // all that 8 bits can name
    kind.between.resize(4 * 256);
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(3, 7));
    kind.colours = 257;
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(test::refusal_of(folder / "a.bmp"), HasSubstr("257"));
}

TEST_F(Bmp, AProfileInAnotherFileIsNamedAsLost) {
    const Image colours = make_pattern({3, 4}, 3, DType::u8), alpha = make_pattern({3, 4}, 1, DType::u8);
    save_image({.pixels = colours.view(), .alpha = alpha.view()}, folder / "a.bmp");
    EXPECT_THAT(open_image(folder / "a.bmp")->metadata().not_kept, IsEmpty());
    std::fstream file(folder / "a.bmp", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(70) << number(0x4C494E4B);  // the colour space of BITMAPV5HEADER
    file.close();
    EXPECT_THAT(open_image(folder / "a.bmp")->metadata().not_kept, ElementsAre("colour profile in another file"));
}

TEST_F(Bmp, PrimariesAreNamedAsLost) {
    std::string rest(68, '\0');  // of a BITMAPV4HEADER: masks, colour space, primaries, gamma
    const auto not_kept = [&] {
        write_bmp_fixture(folder / "a.bmp", {.between = rest, .rows = kRows, .info_bytes = 108});
        return open_image(folder / "a.bmp")->metadata().not_kept;
    };
    EXPECT_THAT(not_kept(), IsEmpty());
    rest[67] = '\1';  // the gamma of blue
    EXPECT_THAT(not_kept(), ElementsAre(HasSubstr("colour tags")));
    rest[16] = 'B';  // another colour space, which has no primaries
    EXPECT_THAT(not_kept(), IsEmpty());
}

TEST_F(Bmp, MasksSayWhereTheColoursAre) {
    const std::string rows("\1\2\3\4\5\6\7\10", 8);
    BmpKind kind{.height = 1, .bits = 32, .rows = rows};
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(3, 2, 1, 7, 6, 5));
    EXPECT_FALSE(open_image(folder / "a.bmp")->info().has_alpha) << "the fourth byte has no meaning";
    kind.compression = 3;
    kind.between = number(0xFFU) + number(0xFF000000U) + number(0xFF00U);
    write_bmp_fixture(folder / "a.bmp", kind);
    EXPECT_THAT(samples_of(folder / "a.bmp"), ElementsAre(1, 4, 2, 5, 8, 6));
    for (const std::string& masks : {number(0x3FFU) + number(0xFFU) + number(0xFF00U),  // ten bits of red
                                     number(0xFFU) + number(0xFFU) + number(0xFF00U)}) {
        kind.between = masks;
        write_bmp_fixture(folder / "a.bmp", kind);
        EXPECT_THAT(test::refusal_of(folder / "a.bmp"), HasSubstr("8 bits each"));
    }
}

TEST_F(Bmp, WhatIsNotSupportedIsRefusedByName) {
    const auto refusal = [&](const BmpKind& kind) {
        write_bmp_fixture(folder / "a.bmp", kind);
        return test::refusal_of(folder / "a.bmp");
    };
    const std::string rows(64, '\0');
    EXPECT_THAT(refusal({.bits = 4, .rows = rows}), HasSubstr("4 bits a pixel"));
    EXPECT_THAT(refusal({.bits = 16, .rows = rows}), HasSubstr("16 bits a pixel"));
    EXPECT_THAT(refusal({.bits = 8, .compression = 1, .rows = rows}), HasSubstr("compressed"));
    EXPECT_THAT(refusal({.rows = rows, .info_bytes = 12}), HasSubstr("no Windows bitmap"));
    EXPECT_THAT(refusal({.width = 0, .rows = rows}), HasSubstr("2x0 px"));
    EXPECT_THAT(refusal({.height = 0, .rows = rows}), HasSubstr("0x2 px"));
    EXPECT_THAT(refusal({.width = 2147483647, .height = -2147483647 - 1, .rows = rows}), HasSubstr("damaged"));
    EXPECT_THAT(refusal({.rows = kRows.substr(1)}), HasSubstr("2x2 px"));
    for (const uint32_t begin : {0U, 53U, 1000U}) {
        write_bmp_fixture(folder / "a.bmp", {.rows = rows});
        std::fstream file(folder / "a.bmp", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(10) << number(begin);
        file.close();
        EXPECT_THAT(test::refusal_of(folder / "a.bmp"), HasSubstr("from byte " + std::to_string(begin) + " on"));
    }
}

TEST_F(Bmp, PixelsAndAlphaSurvive) {
    for (const int64_t channels : {1, 3})
        for (const Extent extent : {Extent{1, 1}, Extent{1, 301}, Extent{130, 1}, Extent{77, 54}}) {
            const Image image = make_pattern(extent, channels, DType::u8);
            const Image alpha = make_pattern(extent, 1, DType::u8, 999);
            save_image({image.view(), {}, nullptr}, folder / "a.bmp");
            EXPECT_TRUE(same_bytes(load_image(folder / "a.bmp"), image)) << channels;
            EXPECT_TRUE(open_image(folder / "a.bmp")->read_alpha().empty());
            save_image({image.view(), alpha.view(), nullptr}, folder / "a.bmp");
            EXPECT_TRUE(same_bytes(open_image(folder / "a.bmp")->read_alpha(), alpha));
            const Image read = load_image(folder / "a.bmp");
            ASSERT_EQ(read.channels(), 3) << "the format has no gray with alpha";
            EXPECT_TRUE(channels == 1 || same_bytes(read, image));
            for (int64_t i = 0; channels == 1 && i < 3 * extent.pixels(); ++i)
                ASSERT_EQ(read.as<uint8_t>()[i], image.as<uint8_t>()[i / 3]);
        }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.bmp"});
}

TEST_F(Bmp, RowsAreFilledUpWithZeros) {
    for (const int64_t channels : {1, 3}) {
        Image white({2, 5}, channels, DType::u8);
        std::fill_n(white.as<uint8_t>(), white.num_samples(), uint8_t{255});
        save_image({white.view(), {}, nullptr}, folder / "a.bmp");
        const auto bytes = test::read_bytes(folder / "a.bmp");
        const int64_t padding = 4 - 5 * channels % 4;
        EXPECT_EQ(std::count(bytes.end() - padding, bytes.end(), '\0'), padding) << channels;
    }
}

TEST_F(Bmp, PartsAreReadFromTheirRows) {
    for (const int64_t channels : {1, 3}) {
        const Image image = make_pattern({40, 50}, channels, DType::u8);
        save_image({image.view(), {}, nullptr}, folder / "a.bmp");
        EXPECT_TRUE(open_image(folder / "a.bmp")->windowed());
        test::expect_parts_equal_whole(folder / "a.bmp", image);
    }
}

TEST_F(Bmp, ProfileAndResolutionSurviveAndExifIsNamed) {
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of("a profile");
    metadata.exif = test::bytes_of("II");
    metadata.x_resolution_per_m = 300 / 0.0254;
    metadata.y_resolution_per_m = 200 / 0.0254;
    for (const int64_t channels : {1, 3}) {
        const Image image = make_pattern({5, 7}, channels, DType::u8);
        save_image({image.view(), {}, &metadata}, folder / "a.bmp");
        const auto file = open_image(folder / "a.bmp");
        EXPECT_EQ(file->metadata().icc_profile, metadata.icc_profile);
        EXPECT_EQ(file->metadata().x_resolution_per_m, 11811);
        EXPECT_EQ(file->metadata().y_resolution_per_m, 7874);
        EXPECT_TRUE(same_bytes(load_image(folder / "a.bmp"), image));
    }
    EXPECT_THAT(lost_metadata(metadata, "b.bmp", false), ElementsAre("EXIF"));
    EXPECT_THAT(lost_metadata(metadata, "b.jpg", false), IsEmpty());
    metadata.exif.resize(65527);
    EXPECT_THAT(lost_metadata(metadata, "b.jpg", false), IsEmpty());
    metadata.exif.resize(65528);
    EXPECT_THAT(lost_metadata(metadata, "b.jpg", false), ElementsAre(HasSubstr("EXIF of more than 64 KB")));
    metadata.exif.clear();
    EXPECT_THAT(lost_metadata(metadata, "b.bmp", false), IsEmpty());
}

TEST_F(Bmp, AProfileBeyondTheEndIsRefused) {
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of("a profile");
    save_image({make_pattern({5, 7}, 3, DType::u8).view(), {}, &metadata}, folder / "a.bmp");
    auto bytes = test::read_bytes(folder / "a.bmp");
    bytes[130 + 3] = 0x7F;
    test::write_bytes(folder / "a.bmp", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.bmp"), HasSubstr("profile"));
}

TEST_F(Bmp, AFileThatEndsWithinItsHeaderIsDamaged) {
    write_bmp_fixture(folder / "a.bmp", {.rows = kRows});
    auto bytes = test::read_bytes(folder / "a.bmp");
    for (const size_t count : {size_t{53}, size_t{20}, size_t{10}}) {
        bytes.resize(count);
        test::write_bytes(folder / "a.bmp", bytes);
        EXPECT_THAT(test::refusal_of(folder / "a.bmp"),
                    AllOf(HasSubstr("damaged"), HasSubstr(std::to_string(count) + " bytes, within its header")));
    }
}

TEST_F(Bmp, NothingLargerThanItsHeaderCanSayIsWritten) {
    const auto refusal = [&](const ImageInfo& info) {
        return usage_error([&] { check_can_save(info, folder / "a.bmp"); });
    };
    EXPECT_THAT(refusal({{40000, 40000}, 3, DType::u8}), HasSubstr("4 GiB"));
    EXPECT_THAT(refusal({{40000, 40000}, 1, DType::u8, true}), HasSubstr("4 GiB"));
    EXPECT_EQ(refusal({{40000, 40000}, 1, DType::u8}), kNotThrown);
    EXPECT_THAT(refusal({{4, 4}, 3, DType::u16}), HasSubstr("u16"));
}

}  // namespace
}  // namespace pb::image
