#include "image/formats/npy.hpp"

#include "image/placed_image.hpp"
#include "image_support.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace pb::image {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using Npy = test::InFolder;
using Raw = test::InFolder;

/// A file with this header text and these samples.
void write_npy_fixture(const std::filesystem::path& path, const std::string& header, const std::vector<char>& samples,
                       char version = 1) {
    std::string text = "\x93NUMPY";
    text += {version, '\0', static_cast<char>(header.size()), '\0'};
    if (version > 1) text += {'\0', '\0'};
    text += header;
    std::vector<char> bytes(text.begin(), text.end());
    bytes.insert(bytes.end(), samples.begin(), samples.end());
    test::write_bytes(path, bytes);
}

std::string header_of(const std::string& descr, const std::string& shape, const char* fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

TEST_F(Npy, AllVersionsAndByteOrdersAreRead) {
    for (const char version : {'\1', '\2', '\3'}) {
        write_npy_fixture(folder / "a.npy", header_of("<u2", "(1, 2)"), {1, 2, 3, 4}, version);
        EXPECT_EQ(load_image(folder / "a.npy").as<uint16_t>()[0], 0x0201);
        write_npy_fixture(folder / "a.npy", header_of(">u2", "(1, 2)"), {1, 2, 3, 4}, version);
        EXPECT_EQ(load_image(folder / "a.npy").as<uint16_t>()[1], 0x0304);
    }
}

TEST_F(Npy, TextsMayHaveDoubleQuotes) {
    write_npy_fixture(folder / "a.npy", R"({'descr': "<u2", 'fortran_order': False, 'shape': (1, 1)})", {1, 2});
    EXPECT_EQ(*load_image(folder / "a.npy").as<uint16_t>(), 0x0201);
}

TEST_F(Npy, OtherVersionsAreRefusedByNumber) {
    for (const char version : {'\0', '\4'}) {
        write_npy_fixture(folder / "a.npy", header_of("<u2", "(1, 2)"), {1, 2, 3, 4}, version);
        EXPECT_THAT(test::refusal_of(folder / "a.npy"), HasSubstr("version " + std::to_string(version)));
    }
}

TEST_F(Npy, ShapesMakeGrayColourAndAlpha) {
    const std::vector<std::tuple<std::string, int64_t, bool>> shapes{{"(2, 6)", 1, false},    {"(2L, 6L)", 1, false},
                                                                     {"(2, 6, 1)", 1, false}, {"(2, 3, 2)", 1, true},
                                                                     {"(2, 2, 3)", 3, false}, {"(1, 3, 4)", 3, true}};
    for (const auto& [shape, channels, alpha] : shapes) {
        write_npy_fixture(folder / "a.npy", header_of("|u1", shape), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
        const auto file = open_image(folder / "a.npy");
        EXPECT_EQ(file->info().channels, channels) << shape;
        EXPECT_EQ(file->info().has_alpha, alpha) << shape;
        EXPECT_TRUE(file->windowed());
        EXPECT_EQ(file->read_alpha().empty(), !alpha);
        if (!alpha) continue;
        EXPECT_EQ(file->read_alpha().as<uint8_t>()[0], channels + 1);
    }
}

TEST_F(Npy, AnAxisOfOneChannelIsKept) {
    for (const auto* shape : {"(2, 6)", "(2, 6, 1)"}) {
        write_npy_fixture(folder / "a.npy", header_of("|u1", shape), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
        const ImageInfo info = open_image(folder / "a.npy")->info();
        const Image image = load_image(folder / "a.npy");
        save_image({image.view(), {}, nullptr, info.has_channel_axis}, folder / "b.npy");
        {
            PlacedImage placed(info, nullptr, folder / "c.npy");
            PixelWriter(placed.temporary_name(), info, folder / "c.npy").write(0, 0, image.view());
            placed.commit();
        }
        for (const char* name : {"b.npy", "c.npy"}) {
            const std::vector<char> bytes = test::read_bytes(folder / name);
            EXPECT_THAT(std::string(bytes.begin(), bytes.end()), HasSubstr(std::string("'shape': ") + shape + ","));
            EXPECT_TRUE(test::same_bytes(load_image(folder / name), image));
        }
    }
}

TEST_F(Npy, RefusalsSayWhatToDo) {
    const auto refusal = [&](const std::string& header, size_t bytes) {
        write_npy_fixture(folder / "a.npy", header, std::vector<char>(bytes));
        return test::refusal_of(folder / "a.npy");
    };
    EXPECT_THAT(refusal(header_of("<i8", "(1, 2)"), 16), HasSubstr("astype"));
    EXPECT_THAT(refusal(header_of("|b1", "(1, 2)"), 2), HasSubstr("astype"));
    EXPECT_THAT(refusal(header_of("<f4", "(1, 2)", "True"), 8), HasSubstr("ascontiguousarray"));
    EXPECT_THAT(refusal(header_of("<f4", "(1, 2)", "1"), 8), HasSubstr("fortran_order"));
    const auto advice = [&](const std::string& shape) { return refusal(header_of("|u1", shape), 105); };
    EXPECT_THAT(advice("(3, 5, 7)"), HasSubstr("array.transpose(1, 2, 0)"));
    EXPECT_THAT(advice("(1, 3, 5, 7)"), HasSubstr("array[0].transpose(1, 2, 0)"));
    EXPECT_THAT(advice("(1, 5, 7, 3)"), EndsWith(" array[0]"));
    EXPECT_THAT(advice("(1, 15, 7)"), EndsWith(" array[0]"));
    EXPECT_THAT(advice("(15, 1, 7)"), HasSubstr("15 planes (Z,Y,X)"));
    EXPECT_THAT(advice("(5, 5, 5)"), HasSubstr("5 planes (Z,Y,X)")) << "no fewer channels than rows";
    EXPECT_THAT(advice("(5, 3, 1, 7)"), AllOf(HasSubstr("5 images"), HasSubstr("array[0].transpose(1, 2, 0)")));
    EXPECT_THAT(advice("(5, 7, 3, 1)"), AllOf(HasSubstr("5 images"), HasSubstr("array[0] ")));
    EXPECT_THAT(refusal(header_of("|u1", "(5,)"), 5), HasSubstr("(5)"));
    EXPECT_THAT(refusal(header_of("|u1", "(0, 7)"), 0), HasSubstr("no pixels"));
    EXPECT_THAT(refusal(header_of("|u1", "(5, 7)"), 34), HasSubstr("truncated"));
    EXPECT_THAT(refusal(header_of("|u1", "(5, 7)"), 28), HasSubstr("5 rows of 7 bytes")) << "a row is missing";
    EXPECT_THAT(refusal(header_of("|u1", "(5, 7)"), 36), HasSubstr("damaged"));
    EXPECT_THAT(refusal(header_of("<f4", "(2000000000, 2000000000, 3)"), 36), HasSubstr("damaged"));
    EXPECT_THAT(refusal(header_of("<f4", "(99999999999999999999, 1)"), 36), HasSubstr("shape"));
    EXPECT_THAT(refusal("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 1)}", 4),
                AllOf(HasSubstr("named fields"), HasSubstr("array['name']")));
    EXPECT_THAT(refusal("", 4), HasSubstr("descr"));
}

TEST_F(Npy, NanIsRefusedWithItsPlace) {
    Image image = test::make_pattern({9, 11}, 3, DType::f32);
    image.as<float>()[(4 * 11 + 7) * 3 + 2] = std::nanf("");
    for (const char* name : {"a.npy", "a.tif"}) {
        save_image({image.view(), {}, nullptr}, folder / name);
        EXPECT_THAT(test::refusal_of(folder / name), HasSubstr("row 4, column 7, channel 2"));
        const auto file = open_image(folder / name);
        EXPECT_NO_THROW((void)test::read_part(*file, {5, 0, {3, 11}}));
        EXPECT_THAT(usage_error([&] {
                        (void)test::read_part(*file, {3, 6, {5, 3}});
                    }),
                    HasSubstr("row 4, column 7, channel 2"));
        file->keep_not_finite();
        EXPECT_TRUE(test::same_bytes(test::read_part(*file, {0, 0, {9, 11}}), image));
    }
}

TEST_F(Npy, NanInAlphaIsReadUnlessItIsABand) {
    const Image image = test::make_pattern({9, 11}, 3, DType::f32);
    Image alpha = test::make_pattern({9, 11}, 1, DType::f32);
    alpha.as<float>()[4 * 11 + 7] = std::nanf("");
    for (const char* name : {"a.npy", "a.tif"}) {
        save_image({image.view(), alpha.view(), nullptr}, folder / name);
        const auto file = open_image(folder / name);
        EXPECT_TRUE(std::isnan(file->read_alpha().as<float>()[4 * 11 + 7]));
        file->take_alpha_as_band();
        EXPECT_THAT(usage_error([&] { (void)file->read_alpha(); }), HasSubstr("row 4, column 7, channel 3"));
    }
}

TEST_F(Npy, PartsEqualTheWhole) {
    const Image image = test::make_pattern({41, 57}, 3, DType::f32);
    save_image({image.view(), {}, nullptr}, folder / "a.npy");
    test::expect_parts_equal_whole(folder / "a.npy", image);
}

TEST_F(Raw, SamplesAreReadByWindowsAsTheirShapeSays) {
    for (const DType dtype : {DType::u8, DType::u16, DType::f32})
        for (const int64_t channels : {1, 3}) {
            const Image image = test::make_pattern({23, 31}, channels, dtype);
            save_image({.pixels = image.view()}, folder / "a.raw");
            const ImageInfo info{image.extent(), channels, dtype};
            EXPECT_EQ(std::filesystem::file_size(folder / "a.raw"), info.bytes());
            const auto file = open_raw_image(folder / "a.raw", info);
            EXPECT_TRUE(file->windowed());
            const Rect part{5, 7, {11, 13}};
            EXPECT_TRUE(test::same_bytes(test::read_part(*file, part), test::crop(image, part)));
        }
}

TEST_F(Raw, AlphaIsToldApart) {
    const Image pixels = test::make_pattern({9, 7}, 3, DType::u8);
    const Image alpha = test::make_pattern({9, 7}, 1, DType::u8, 5);
    save_image({.pixels = pixels.view(), .alpha = alpha.view()}, folder / "a.raw");
    const auto file = open_raw_image(folder / "a.raw", {{9, 7}, 3, DType::u8, true});
    const Rect part{2, 1, {5, 4}};
    EXPECT_TRUE(test::same_bytes(test::read_part(*file, part), test::crop(pixels, part)));
    EXPECT_TRUE(test::same_bytes(file->read_alpha(part), test::crop(alpha, part)));
}

TEST_F(Raw, AnotherLengthIsRefused) {
    test::write_bytes(folder / "a.raw", std::vector<char>(100));
    EXPECT_THAT(usage_error([&] {
                    (void)open_raw_image(folder / "a.raw", {{10, 11}, 1, DType::u8});
                }),
                AllOf(HasSubstr("110 samples"), HasSubstr("100 bytes")));
    test::write_bytes(folder / "c.raw", std::vector<char>(101));
    EXPECT_THROW((void)open_raw_image(folder / "c.raw", {{5, 10}, 1, DType::u16}), UsageError) << "half a sample more";
    const int64_t edge = int64_t{1} << 30;  // 2^64 bytes
    EXPECT_THROW((void)open_raw_image(folder / "a.raw", {{edge, edge}, 4, DType::f32}), UsageError);
    test::write_bytes(folder / "b.raw", std::vector<char>());
    EXPECT_THROW((void)open_raw_image(folder / "b.raw", {{edge, edge}, 4, DType::f32}), UsageError);
}

}  // namespace
}  // namespace pb::image
