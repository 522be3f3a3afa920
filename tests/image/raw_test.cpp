#include "image/formats/npy.hpp"
#include "image_support.hpp"

#include <gmock/gmock.h>

namespace pb::image {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Raw = test::InFolder;

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
