// Files that many write together: whatever the rectangles are, the file is the one that a single writer would leave.
#include "image/placed_image.hpp"

#include "image_support.hpp"
#include "support/file_size_limit.hpp"

#include <gmock/gmock.h>
#include <tiffio.h>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;
using testing::HasSubstr;
using PlacedImages = test::InFolder;

/// Not a multiple of a tile, three tiles each way.
constexpr Extent kExtent{600, 531};

ImageInfo info_of(const Image& image, bool alpha = false) {
    return {image.extent(), image.channels(), image.dtype(), alpha};
}

/// Two writers take turns with squares of `edge` pixels.
void write_in_squares(const std::filesystem::path& file, const Image& pixels, const Image& alpha, int64_t edge) {
    const ImageInfo info = info_of(pixels, !alpha.empty());
    PlacedImage placed(info, nullptr, file);
    std::vector<std::unique_ptr<PixelWriter>> writers;
    for (int i = 0; i < 2; ++i) writers.push_back(std::make_unique<PixelWriter>(placed.temporary_name(), info, file));
    size_t turn = 0;
    for (int64_t row = 0; row < info.extent.h; row += edge)
        for (int64_t column = 0; column < info.extent.w; column += edge) {
            const Rect part{row, column, {std::min(edge, info.extent.h - row), std::min(edge, info.extent.w - column)}};
            const Image some = test::crop(pixels, part);
            const Image some_alpha = alpha.empty() ? Image() : test::crop(alpha, part);
            writers[turn++ % 2]->write(row, column, some.view(), some_alpha.view());
        }
    for (const auto& writer : writers) writer->flush();
    placed.commit();
}

TEST_F(PlacedImages, AnyRectanglesGiveTheImage) {
    for (const char* name : {"a.tif", "a.npy", "a.raw"})
        for (const DType dtype : {DType::u8, DType::u16, DType::f32})
            for (const int64_t channels : {1, 3})
                for (const int64_t edge : {96, 256, 1000}) {
                    const Image image = make_pattern(kExtent, channels, dtype);
                    write_in_squares(folder / name, image, {}, edge);
                    const auto file = open_placed(folder / name, info_of(image), folder / name);
                    ASSERT_TRUE(file->windowed());
                    ASSERT_TRUE(same_bytes(test::read_part(*file, {0, 0, kExtent}), image)) << name << ' ' << edge;
                }
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.npy", "a.raw", "a.tif"})) << "no temporary file is left";
}

TEST_F(PlacedImages, AFileThatIsGoneIsAnOutputThatCannotBeWrittenAndNoInput) {
    const Image image = make_pattern({8, 8}, 1, DType::u8);
    try {
        (void)open_placed(folder / ".a.npy.0.part", info_of(image), folder / "a.npy");
        FAIL() << "it was opened";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("a.npy.0.part"));
        EXPECT_EQ(dynamic_cast<const UsageError*>(&error), nullptr);
    }
}

TEST_F(PlacedImages, NpyAndRawAreTheBytesOfASingleWriter) {
    const Image image = make_pattern(kExtent, 3, DType::u16);
    for (const std::string ending : {".npy", ".raw"}) {
        write_in_squares(folder / ("a" + ending), image, {}, 200);
        save_image({.pixels = image.view()}, folder / ("b" + ending));
        EXPECT_EQ(test::read_bytes(folder / ("a" + ending)), test::read_bytes(folder / ("b" + ending)));
    }
}

TEST_F(PlacedImages, CompressedTilesHoldTheSamePixelsInFewerBytes) {
    for (const Compression compression : {Compression::deflate, Compression::lzw})
        for (const DType dtype : {DType::u8, DType::u16, DType::f32}) {
            const Image image = make_pattern(kExtent, 3, dtype), alpha = make_pattern(kExtent, 1, dtype, 3);
            const ImageInfo info = info_of(image, true);
            const ImageMetadata metadata{.icc_profile = test::bytes_of("a profile"),
                                         .x_resolution_per_m = 3000.0,
                                         .y_resolution_per_m = 3000.0,
                                         .premultiplied_alpha = true};
            PlacedImage placed(info, &metadata, folder / "a.tif", compression);
            PixelWriter(placed.temporary_name(), info, folder / "a.tif").write(0, 0, image.view(), alpha.view());
            placed.commit();
            const auto file = open_image(folder / "a.tif");
            EXPECT_TRUE(file->windowed());
            EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image)) << name_of(compression) << name_of(dtype);
            EXPECT_TRUE(same_bytes(file->read_alpha(), alpha));
            EXPECT_EQ(file->metadata().icc_profile, metadata.icc_profile);
            EXPECT_TRUE(file->metadata().premultiplied_alpha);
            TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "r");
            uint16_t tag = 0;
            ASSERT_EQ(TIFFGetField(tiff, TIFFTAG_COMPRESSION, &tag), 1);
            EXPECT_EQ(tag, compression == Compression::lzw ? COMPRESSION_LZW : COMPRESSION_ADOBE_DEFLATE);
            ASSERT_EQ(TIFFGetField(tiff, TIFFTAG_PREDICTOR, &tag), 1);
            EXPECT_EQ(tag, dtype == DType::f32 ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
            TIFFClose(tiff);
        }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.tif"}) << "no temporary file is left";
}

TEST_F(PlacedImages, SmoothTilesTakeLessRoomCompressed) {
    Image image(kExtent, 1, DType::u16);
    for (int64_t i = 0; i < kExtent.pixels(); ++i) image.as<uint16_t>()[i] = static_cast<uint16_t>(i % kExtent.w * 40);
    for (const Compression compression : {Compression::none, Compression::deflate, Compression::lzw}) {
        const std::filesystem::path file = folder / (std::string(name_of(compression)) + ".tif");
        PlacedImage placed(info_of(image), nullptr, file, compression);
        PixelWriter(placed.temporary_name(), info_of(image), file).write(0, 0, image.view());
        placed.commit();
    }
    const auto bytes = [&](const char* name) { return std::filesystem::file_size(folder / name); };
    EXPECT_LT(bytes("deflate.tif") * 10, bytes("none.tif"));
    EXPECT_LT(bytes("lzw.tif") * 10, bytes("none.tif"));
}

TEST_F(PlacedImages, AFullDiskWhileItIsCompressedIsAnError) {
    const Image image = make_pattern({40, 50}, 1, DType::u8);
    save_image({image.view()}, folder / "whole.tif", Compression::deflate);
    const auto whole = std::filesystem::file_size(folder / "whole.tif");
    for (const auto bytes : {uint64_t{100}, whole / 2, whole - 1}) {
        PlacedImage placed(info_of(image), nullptr, folder / "a.tif", Compression::deflate);
        PixelWriter(placed.temporary_name(), info_of(image), folder / "a.tif").write(0, 0, image.view());
        const test::FileSizeLimit full(bytes);
        EXPECT_THAT(error_of<Error>([&] { placed.commit(); }), HasSubstr("File too large")) << bytes;
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"whole.tif"});
}

TEST_F(PlacedImages, OnlyTiffIsCompressed) {
    EXPECT_THROW(PlacedImage({kExtent, 1, DType::u8, false}, nullptr, folder / "a.npy", Compression::lzw), UsageError);
    EXPECT_NO_THROW(check_can_compress(Compression::none, "a.npy"));
    EXPECT_NO_THROW(check_can_compress(Compression::deflate, "a.TIFF"));
    EXPECT_TRUE(folder.names().empty());
}

TEST_F(PlacedImages, AlphaAndMetadataAreKept) {
    const Image pixels = make_pattern(kExtent, 3, DType::u16);
    const Image alpha = make_pattern(kExtent, 1, DType::u16, 3);
    write_in_squares(folder / "a.tif", pixels, alpha, 96);
    EXPECT_TRUE(same_bytes(open_image(folder / "a.tif")->read_alpha(), alpha));
    EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), pixels));

    const ImageMetadata metadata{.icc_profile = test::bytes_of("a profile"),
                                 .x_resolution_per_m = 3000.0,
                                 .y_resolution_per_m = 3000.0,
                                 .premultiplied_alpha = true};
    PlacedImage placed({kExtent, 3, DType::u8, true}, &metadata, folder / "b.tif");
    placed.commit();
    const auto file = open_image(folder / "b.tif");
    EXPECT_EQ(file->metadata().icc_profile, metadata.icc_profile);
    EXPECT_NEAR(file->metadata().x_resolution_per_m.value(), 3000, 0.1);
    EXPECT_TRUE(file->metadata().premultiplied_alpha);
}

TEST_F(PlacedImages, IsATiledBigTiff) {
    const Image image = make_pattern(kExtent, 1, DType::u8);
    write_in_squares(folder / "a.tif", image, {}, 128);
    EXPECT_EQ(std::string(test::read_bytes(folder / "a.tif").data(), 4), std::string("II+\0", 4));
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "r");
    ASSERT_NE(tiff, nullptr);
    EXPECT_EQ(TIFFIsTiled(tiff), 1);
    std::vector<uint32_t> pixels(static_cast<size_t>(kExtent.pixels()));
    ASSERT_EQ(TIFFReadRGBAImageOriented(tiff, kExtent.w, kExtent.h, pixels.data(), ORIENTATION_TOPLEFT, 1), 1);
    TIFFClose(tiff);
    for (size_t i = 0; i < pixels.size(); ++i) ASSERT_EQ(TIFFGetG(pixels[i]), image.as<uint8_t>()[i]) << i;
}

TEST_F(PlacedImages, PlacesGoBeyond4GiBAndDoNotOverlap) {
    const ImageInfo info{{173206, 173206}, 1, DType::u8};  // 30 gigapixels
    const PixelPlaces tiled = find_places(info, folder / "a.tif");
    EXPECT_EQ(tiled.of(0, 0), 16U);
    EXPECT_EQ(tiled.of(0, 256), 16U + 256 * 256);
    EXPECT_EQ(tiled.of(173205, 173205) + 1,
              tiled.end() - static_cast<uint64_t>(677 * 256 - 173206) * 257);  // the last tile reaches beyond the image
    const PixelPlaces dense = find_places(info, folder / "a.npy");
    EXPECT_EQ(dense.of(0, 0), 128U);
    EXPECT_EQ(dense.of(173205, 173205) + 1, dense.end());
    EXPECT_GT(dense.end(), uint64_t{30000000000});
}

TEST_F(PlacedImages, NothingAppearsUnlessItIsCommitted) {
    { const PlacedImage placed({kExtent, 1, DType::u8}, nullptr, folder / "a.tif"); }
    EXPECT_TRUE(folder.names().empty());
    EXPECT_THROW(PlacedImage({kExtent, 1, DType::u8}, nullptr, folder / "a.png"), UsageError);
    EXPECT_THROW(PixelWriter(folder / "none.part", {kExtent, 1, DType::u8}, folder / "a.tif"), Error);
    EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace pb::image
