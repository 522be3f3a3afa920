// Stacks that StackFile writes, read back.
#include "image/stack_file.hpp"

#include "stack_fixture.hpp"
#include "support/file_size_limit.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

namespace pb::image {
namespace {

using test::description_of;
using test::kOme;
using test::kPlaneExtent;
using test::make_pattern;
using test::plane;
using test::read_page;
using test::same_bytes;
using test::TiffKind;
using test::write_pages;
using test::write_planes;
using testing::ElementsAre;
using testing::HasSubstr;
using StackFiles = test::InFolder;

/// Writes all chosen pages of `from`, unchanged, as a stack.
void copy_stack(ImageFile& from, const std::filesystem::path& to, std::optional<Compression> chosen = {}) {
    StackFile stack(from, to, chosen);
    for (int64_t i = 0; i < from.num_pages(); ++i) {
        const Image pixels = read_page(from, i), alpha = from.read_alpha();
        stack.add({pixels.view(), alpha.view(), &from.metadata()});
    }
    stack.commit();
}

TEST_F(StackFiles, ACopyHasPixelsDescriptionAndByteOrder) {
    for (const TiffKind& kind : {TiffKind{}, TiffKind{.mode = "wb", .compression = COMPRESSION_ADOBE_DEFLATE}}) {
        write_planes(folder / "a.tif", kOme, kind);
        copy_stack(*open_stack(folder / "a.tif", {}), folder / "b.tif");
        const auto copy = open_stack(folder / "b.tif", {});
        ASSERT_EQ(copy->num_pages(), 5);
        EXPECT_EQ(description_of(*copy), kOme);
        EXPECT_EQ(copy->metadata().tiff_big_endian, std::string(kind.mode) == "wb");
        EXPECT_EQ(copy->metadata().tiff_compression, kind.compression);
        for (uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(same_bytes(read_page(*copy, i), plane(i))) << i;
        EXPECT_EQ(description_of(*copy), "") << "of the last page";
    }
}

TEST_F(StackFiles, UncompressedPixelsOfAllPagesAreContiguous) {
    for (const char* mode : {"w", "w8"}) {
        write_planes(folder / "a.tif", "ImageJ=1.54f\nimages=5\n", {.mode = mode});
        copy_stack(*open_stack(folder / "a.tif", {}), folder / "b.tif");
        TIFF* tiff = TIFFOpen((folder / "b.tif").c_str(), "r");
        const uint64_t begin = TIFFGetStrileOffset(tiff, 0);
        for (uint64_t page = 0; page < 5; ++page) {
            ASSERT_EQ(TIFFSetDirectory(tiff, static_cast<tdir_t>(page)), 1);
            EXPECT_EQ(TIFFGetStrileOffset(tiff, 0), begin + page * plane(0).bytes().size()) << page;
        }
        TIFFClose(tiff);
    }
}

TEST_F(StackFiles, PagesOfUnequalCompressionAreKept) {
    using Compressions = std::vector<int>;
    for (const Compressions& compressions : {Compressions{COMPRESSION_LZW, COMPRESSION_NONE, COMPRESSION_LZW},
                                             Compressions{COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_NONE}}) {
        TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
        for (uint32_t i = 0; i < 3; ++i) {
            test::set_tiff_tags(tiff, plane(i), false, {.compression = compressions[i]});
            test::write_tiff_pixels(tiff, plane(i), {});
            TIFFWriteDirectory(tiff);
        }
        TIFFClose(tiff);
        copy_stack(*open_stack(folder / "a.tif", {}), folder / "b.tif");
        const auto copy = open_stack(folder / "b.tif", {});
        for (uint32_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(same_bytes(read_page(*copy, i), plane(i))) << i;
            EXPECT_EQ(copy->metadata().tiff_compression, compressions[i]);
        }
    }
}

/// Pages of 2 GB each that are not there.
class LargeStack final : public ImageFile {
  public:
    explicit LargeStack(int64_t num_pages) : ImageFile({{40000, 50000}, 1, DType::u8}), num_pages_(num_pages) {}
    [[nodiscard]] int64_t num_pages() const override { return num_pages_; }

  private:
    void read_channels(const Rect&, int64_t, MutablePixelView) override {}

    int64_t num_pages_;
};

TEST_F(StackFiles, OneThatMayOutgrowATiffOfFourGigabytesIsABigTiff) {
    for (const int64_t num_pages : {1, 2, 3}) {  // LZW may make two of them 6 GB
        const StackFile stack(LargeStack(num_pages), folder / "a.tif", {});
        const std::vector<std::string> names = folder.names();
        ASSERT_EQ(names.size(), 1U);
        const char version = test::read_bytes(folder / names.front()).at(2);
        EXPECT_EQ(version, num_pages == 1 ? 42 : 43) << num_pages;
    }
}

TEST_F(StackFiles, ResolutionWithoutUnitIsKept) {
    write_planes(folder / "a.tif", "");
    const auto file = open_stack(folder / "a.tif", {});
    const Image image = plane(0);
    ImageMetadata metadata = file->metadata();
    metadata.tiff_resolution = TiffResolution{6.25F, 12.5F, RESUNIT_NONE};
    save_image({image.view(), {}, &metadata}, folder / "b.tif");
    const auto read = open_image(folder / "b.tif")->metadata();
    ASSERT_TRUE(read.tiff_resolution);
    EXPECT_EQ(read.tiff_resolution->x, 6.25F);
    EXPECT_EQ(read.tiff_resolution->y, 12.5F);
    EXPECT_EQ(read.tiff_resolution->unit, RESUNIT_NONE);
    EXPECT_FALSE(read.x_resolution_per_m);
}

TEST_F(StackFiles, ChosenCompressionReplacesThatOfThePages) {
    write_planes(folder / "a.tif", "", {.compression = COMPRESSION_LZW});
    const auto file = open_stack(folder / "a.tif", {});
    for (const auto& [chosen, number] : std::vector<std::pair<Compression, int>>{
             {Compression::none, COMPRESSION_NONE}, {Compression::deflate, COMPRESSION_ADOBE_DEFLATE}}) {
        copy_stack(*file, folder / "b.tif", chosen);
        const auto copy = open_stack(folder / "b.tif", {});
        EXPECT_EQ(copy->metadata().tiff_compression, number);
        EXPECT_TRUE(same_bytes(read_page(*copy, 4), plane(4)));
    }
}

TEST_F(StackFiles, AlphaAndFloatsInBigEndianFilesAreKept) {
    const auto page = [](uint32_t i) { return make_pattern(kPlaneExtent, 4, DType::f32, 77 * i); };
    write_pages(folder / "a.tif", {{page(0), 0, "", true}, {page(1), 0, "", true}},
                {.mode = "wb", .compression = COMPRESSION_LZW});
    copy_stack(*open_stack(folder / "a.tif", {}), folder / "b.tif");
    const auto copy = open_stack(folder / "b.tif", {});
    for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(same_bytes(read_page(*copy, i), test::take_channels(page(i), 0, 3)));
        EXPECT_TRUE(same_bytes(copy->read_alpha(), test::take_channels(page(i), 3, 1)));
    }
}

TEST_F(StackFiles, AFileAppearsOnlyWhenItIsComplete) {
    write_planes(folder / "a.tif", "");
    const auto file = open_stack(folder / "a.tif", {});
    const Image image = plane(0);
    {
        StackFile stack(*file, folder / "b.tif", {});
        for (int i = 0; i < 4; ++i) stack.add({image.view(), {}, &file->metadata()});
        EXPECT_THROW(stack.commit(), Error);
    }
    EXPECT_THAT(folder.names(), ElementsAre("a.tif"));
    {
        const test::FileSizeLimit full(3000);
        StackFile stack(*file, folder / "b.tif", {});
        EXPECT_THROW(for (int i = 0; i < 5; ++i) stack.add({image.view(), {}, &file->metadata()}), Error);
    }
    EXPECT_THAT(folder.names(), ElementsAre("a.tif"));
    EXPECT_THAT(usage_error([&] { const StackFile stack(*file, folder / "b.png", {}); }), HasSubstr("b.png"));
}

}  // namespace
}  // namespace pb::image
