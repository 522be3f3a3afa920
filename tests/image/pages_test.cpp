// Stacks: TIFF files of several pages, read page by page.
#include "stack_fixture.hpp"
#include "support/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

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
using testing::IsEmpty;
using Stack = test::InFolder;

std::vector<int64_t> numbers_of(ImageFile& file) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < file.num_pages(); ++i) {
        file.turn_to(i);
        numbers.push_back(file.page_number());
    }
    return numbers;
}

TEST_F(Stack, PagesAreReadInAnyOrder) {
    for (const TiffKind& kind : {TiffKind{}, TiffKind{.mode = "wb"}, TiffKind{.mode = "w8", .tile = 16},
                                 TiffKind{.compression = COMPRESSION_LZW}}) {
        write_planes(folder / "a.tif", "", kind);
        const auto file = open_stack(folder / "a.tif", {});
        ASSERT_EQ(file->num_pages(), 5);
        for (const uint32_t page : {0U, 4U, 1U, 1U, 3U, 2U})
            ASSERT_TRUE(same_bytes(read_page(*file, page), plane(page))) << kind.mode << " page " << page;
    }
}

TEST_F(Stack, ChosenPagesAreTheOnlyOnes) {
    write_planes(folder / "a.tif", "");
    const auto file = open_stack(folder / "a.tif", std::vector<int64_t>{1, 3});
    EXPECT_THAT(numbers_of(*file), ElementsAre(1, 3));
    EXPECT_TRUE(same_bytes(read_page(*file, 1), plane(3)));
    EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", std::vector<int64_t>{5}); }),
                AllOf(HasSubstr("page 5"), HasSubstr("0 to 4"), HasSubstr("--pages")));
}

/// Lets the directory with index 3 be followed by that with index 1.
void close_cycle(const std::filesystem::path& file) {
    TIFF* tiff = TIFFOpen(file.c_str(), "r");
    ASSERT_NE(tiff, nullptr);
    const bool big_endian = TIFFIsBigEndian(tiff) != 0, big_tiff = TIFFIsBigTIFF(tiff) != 0;
    std::array<uint64_t, 3> offsets{};  // of the directories 1, 3 and 4
    for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(TIFFSetDirectory(tiff, std::array<uint16_t, 3>{1, 3, 4}[i]), 1);
        offsets[i] = TIFFCurrentDirOffset(tiff);
    }
    TIFFClose(tiff);
    const auto bytes_of = [&](uint64_t value) {
        std::string bytes;
        for (size_t i = 0; i < (big_tiff ? 8U : 4U); ++i) bytes += static_cast<char>(value >> (8 * i));
        return big_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
    };
    std::ifstream whole(file, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(whole), {}};
    const size_t place = content.find(bytes_of(offsets[2]), offsets[1]);
    ASSERT_NE(place, std::string::npos);
    content.replace(place, bytes_of(0).size(), bytes_of(offsets[0]));
    std::ofstream(file, std::ios::binary) << content;
}

TEST_F(Stack, ACycleOfDirectoriesIsNamed) {
    for (const TiffKind& kind : {TiffKind{}, TiffKind{.mode = "wb"}, TiffKind{.mode = "w8"}}) {
        write_planes(folder / "a.tif", "", kind);
        close_cycle(folder / "a.tif");
        EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", {}); }),
                    AllOf(HasSubstr("a.tif"), HasSubstr("cycle"), HasSubstr("number 3 is number 1")))
            << kind.mode;
    }
}

TEST_F(Stack, OneImageIsAStackOfOnePage) {
    const Image image = make_pattern(kPlaneExtent, 3, DType::u8);
    for (const char* name : {"a.tif", "a.png"}) {
        save_image({image.view()}, folder / name);
        const auto file = open_stack(folder / name, std::vector<int64_t>{0});
        EXPECT_EQ(file->num_pages(), 1);
        EXPECT_TRUE(same_bytes(read_page(*file, 0), image));
        EXPECT_THAT(usage_error([&] { (void)open_stack(folder / name, std::vector<int64_t>{1}); }),
                    HasSubstr("no page 1"));
    }
}

TEST_F(Stack, ThumbnailsAndMasksAreNoPages) {
    const Image small = make_pattern({5, 7}, 1, DType::u16);
    write_pages(folder / "a.tif", {{small, FILETYPE_REDUCEDIMAGE},
                                   {plane(0)},
                                   {small, FILETYPE_REDUCEDIMAGE},
                                   {plane(1), FILETYPE_PAGE},
                                   {small, FILETYPE_MASK}});
    const auto file = open_stack(folder / "a.tif", {});
    EXPECT_THAT(numbers_of(*file), ElementsAre(0, 1));
    EXPECT_TRUE(same_bytes(read_page(*file, 0), plane(0)));
    EXPECT_TRUE(same_bytes(read_page(*file, 1), plane(1)));
    EXPECT_THAT(file->metadata().not_kept, ElementsAre("pyramid of 2 levels", "transparency mask"));
    write_pages(folder / "b.tif", {{small, FILETYPE_REDUCEDIMAGE}});
    EXPECT_TRUE(same_bytes(load_image(folder / "b.tif"), small));
    EXPECT_THAT(open_image(folder / "b.tif")->metadata().not_kept, testing::IsEmpty()) << "it is the image itself";
}

/// As camera raw has it: the preview is the only page, and the image lies below it.
TEST_F(Stack, APreviewOfAnImageBelowItIsRefused) {
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    std::array<uint64_t, 1> below{0};  // the next directory
    for (const bool is_preview : {true, false}) {
        const Image image = make_pattern({5, is_preview ? 7 : 70}, 1, DType::u16);
        test::set_tiff_tags(tiff, image, false, {});
        if (is_preview) TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
        if (is_preview) TIFFSetField(tiff, TIFFTAG_SUBIFD, 1, below.data());
        test::write_tiff_pixels(tiff, image, {});
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    EXPECT_THAT(test::refusal_of(folder / "a.tif"), AllOf(HasSubstr("preview"), HasSubstr("develop")));
    EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", {}); }), HasSubstr("preview"));
}

TEST_F(Stack, UnequalPagesAreRefusedByNumber) {
    const std::vector<test::FixturePage> others = {{make_pattern({20, 31}, 1, DType::u16)},
                                                   {make_pattern(kPlaneExtent, 1, DType::u8)},
                                                   {make_pattern(kPlaneExtent, 3, DType::u16)},
                                                   {make_pattern(kPlaneExtent, 2, DType::u16), 0, "", true}};
    for (const test::FixturePage& other : others) {
        write_pages(folder / "a.tif", {{plane(0)}, {plane(1)}, other, {plane(3)}});
        EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", {}); }),
                    AllOf(HasSubstr("page 0"), HasSubstr("page 2"), HasSubstr("--pages")));
        EXPECT_THAT(numbers_of(*open_stack(folder / "a.tif", std::vector<int64_t>{0, 1, 3})), ElementsAre(0, 1, 3));
    }
}

TEST_F(Stack, UnsupportedAndDamagedPagesAreNamed) {
    TiffKind lab;
    lab.photometric = PHOTOMETRIC_CIELAB;
    TIFF* tiff = TIFFOpen((folder / "a.tif").c_str(), "w");
    for (const bool plain : {true, false, true}) {
        test::set_tiff_tags(tiff, plane(0), false, plain ? TiffKind{} : lab);
        test::write_tiff_pixels(tiff, plane(0), {});
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", {}); }), HasSubstr("page 1 of "));
    EXPECT_EQ(open_stack(folder / "a.tif", std::vector<int64_t>{0, 2})->num_pages(), 2);

    write_planes(folder / "b.tif", "", {.compression = COMPRESSION_LZW});
    auto bytes = test::read_bytes(folder / "b.tif");
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
              bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2) + 40, '\xFF');
    test::write_bytes(folder / "b.tif", bytes);
    EXPECT_THAT(usage_error([&] {
                    const auto file = open_stack(folder / "b.tif", {});
                    for (int64_t i = 0; i < file->num_pages(); ++i) (void)read_page(*file, i);
                }),
                AllOf(HasSubstr("page 2 of "), HasSubstr("damaged")));
}

TEST_F(Stack, TruncatedStacksAreErrors) {
    write_planes(folder / "a.tif", "", {.compression = COMPRESSION_LZW});
    const auto bytes = test::read_bytes(folder / "a.tif");
    for (size_t length = 8; length + 8 < bytes.size(); length += 97) {
        test::write_bytes(folder / "b.tif", {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
        EXPECT_THROW(
            {
                const auto file = open_stack(folder / "b.tif", {});
                ASSERT_EQ(file->num_pages(), 5);
                for (int64_t i = 0; i < 5; ++i) (void)read_page(*file, i);
            },
            UsageError)
            << length;
    }
}

/// A big-endian file with one directory; the samples of the other images follow those of the first.
void write_one_directory(const std::filesystem::path& path, const std::string& text, uint32_t there,
                         uint32_t samples = 1) {
    constexpr uint32_t kTags = 10, kTextBegin = 8 + 2 + 12 * kTags + 4;
    const auto length = static_cast<uint32_t>(text.size() + 1);
    const uint32_t bits_begin = kTextBegin + length, bits_bytes = samples > 1 ? 2 * samples : 0;
    const auto h = static_cast<uint32_t>(kPlaneExtent.h), w = static_cast<uint32_t>(kPlaneExtent.w);
    std::vector<char> bytes{'M', 'M', 0, 42, 0, 0, 0, 8, 0, kTags};
    const auto put = [&](uint32_t value, uint32_t count) {
        for (uint32_t i = count; i > 0; --i) bytes.push_back(static_cast<char>(value >> (8 * (i - 1))));
    };
    const std::vector<std::array<uint32_t, 3>> tags{// number, count, value; LONG but for the text
                                                    {256, 1, w},
                                                    {257, 1, h},
                                                    {258, samples, samples > 1 ? bits_begin : 16},
                                                    {259, 1, 1},
                                                    {262, 1, samples > 1 ? 2U : 1U},
                                                    {270, length, kTextBegin},
                                                    {273, 1, bits_begin + bits_bytes},
                                                    {277, 1, samples},
                                                    {278, 1, h},
                                                    {279, 1, 2 * h * w * samples}};
    for (const auto& [number, count, value] : tags) {
        const bool is_short = number == 258 || number == 259 || number == 262 || number == 277;
        put(number, 2);
        put(number == 270 ? 2 : is_short ? 3 : 4, 2);
        put(count, 4);
        put(is_short && count == 1 ? value << 16U : value, 4);
    }
    put(0, 4);
    bytes.insert(bytes.end(), text.c_str(), text.c_str() + length);
    for (uint32_t i = 0; i < bits_bytes / 2; ++i) put(16, 2);
    for (uint32_t i = 0; i < there * samples; ++i) {
        const Image image = plane(i);
        for (size_t b = 0; b < image.bytes().size(); ++b) bytes.push_back(static_cast<char>(image.bytes()[b ^ 1U]));
    }
    test::write_bytes(path, bytes);
}

std::string imagej_text(int64_t images) { return "ImageJ=1.54f\nimages=" + std::to_string(images) + "\nslices=3\n"; }

TEST_F(Stack, OneDirectoryOfImageJDescribesManyImages) {
    write_one_directory(folder / "a.tif", imagej_text(3), 3);
    const auto file = open_stack(folder / "a.tif", {});
    ASSERT_EQ(file->num_pages(), 3);
    for (const uint32_t page : {2U, 0U, 1U}) EXPECT_TRUE(same_bytes(read_page(*file, page), plane(page))) << page;
    EXPECT_EQ(description_of(*file), "") << "only the first page has it";
    write_one_directory(folder / "short.tif", imagej_text(4), 3);
    EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "short.tif", {}); }),
                AllOf(HasSubstr("damaged"), HasSubstr("4 images"), HasSubstr("--pages 0")));
    EXPECT_THAT(numbers_of(*open_stack(folder / "short.tif", std::vector<int64_t>{0, 2})), ElementsAre(0, 2));
    EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "short.tif", std::vector<int64_t>{3}); }),
                AllOf(HasSubstr("damaged"), HasSubstr("4 images")));
}

/// Programs that take one page out of a file copy the description of all.
TEST_F(Stack, OneImageWithTheDescriptionOfManyIsTheFirstPage) {
    for (const TiffKind& kind : {TiffKind{}, TiffKind{.compression = COMPRESSION_LZW}, TiffKind{.tile = 16}}) {
        const int64_t most = std::numeric_limits<int64_t>::max();
        write_pages(folder / "a.tif", {{plane(0), 0, imagej_text(most)}}, kind);
        EXPECT_EQ(open_stack(folder / "a.tif", std::vector<int64_t>{0})->num_pages(), 1) << "whatever it states";
        write_pages(folder / "a.tif", {{plane(0), 0, imagej_text(3)}}, kind);
        EXPECT_THAT(usage_error([&] { (void)open_stack(folder / "a.tif", {}); }),
                    AllOf(HasSubstr("3 images"), HasSubstr("--pages 0")));
        EXPECT_THROW((void)open_stack(folder / "a.tif", std::vector<int64_t>{1}), UsageError);
        const auto file = open_stack(folder / "a.tif", std::vector<int64_t>{0});
        ASSERT_EQ(file->num_pages(), 1);
        EXPECT_TRUE(same_bytes(read_page(*file, 0), plane(0)));
        EXPECT_EQ(description_of(*file), "ImageJ=1.54f\n") << "without the number of images";
    }
}

TEST_F(Stack, OneDirectoryOfTifffileDescribesManyPagesIfItIsTruncated) {
    for (const char* text :
         {R"({"truncated": true, "shape": [3, 20, 30]})", R"({"shape": [3, 20, 30], "truncated": true})"}) {
        write_one_directory(folder / "a.tif", text, 3);
        const auto file = open_stack(folder / "a.tif", {});
        ASSERT_EQ(file->num_pages(), 3);
        EXPECT_TRUE(same_bytes(read_page(*file, 2), plane(2)));
        (void)read_page(*file, 0);
        EXPECT_EQ(description_of(*file), R"({"shape": [3, 20, 30]})") << "each page of the output has its directory";
    }
    write_one_directory(folder / "whole.tif", R"({"shape": [3, 20, 30]})", 3);
    EXPECT_EQ(open_stack(folder / "whole.tif", {})->num_pages(), 1);
}

TEST_F(Stack, OneDirectoryOfOmeXmlDescribesManyPlanes) {
    const auto ome = [](const char* data) {
        return fmt::format(
            "<OME><Image><Pixels SizeC=\"2\" SizeT=\"1\" SizeX=\"30\" SizeZ=\"3\">{}</Pixels></Image></OME>", data);
    };
    write_one_directory(folder / "a.tif", ome("<TiffData IFD=\"0\" PlaneCount=\"6\"/>"), 6);
    const auto file = open_stack(folder / "a.tif", {});
    ASSERT_EQ(file->num_pages(), 6);
    EXPECT_THAT(description_of(*file), HasSubstr("PlaneCount")) << "holds for the pages of the output, too";
    for (const uint32_t page : {5U, 0U, 3U}) EXPECT_TRUE(same_bytes(read_page(*file, page), plane(page))) << page;
    // One plane that a program took out of the file, and one of a set of files.
    write_one_directory(folder / "one.tif", ome(""), 5);
    EXPECT_EQ(open_stack(folder / "one.tif", {})->num_pages(), 1);
    write_one_directory(folder / "set.tif", ome("<TiffData><UUID FileName=\"b.tif\"/></TiffData>"), 6);
    EXPECT_EQ(open_stack(folder / "set.tif", {})->num_pages(), 1);
    write_pages(folder / "followed.tif", {{plane(0), 0, ome("")}});  // by its directory and whatever follows
    auto followed = test::read_bytes(folder / "followed.tif");
    followed.resize(followed.size() + 6 * plane(0).bytes().size());
    test::write_bytes(folder / "followed.tif", followed);
    EXPECT_EQ(open_stack(folder / "followed.tif", {})->num_pages(), 1);
    write_planes(folder / "planes.tif", ome(""));
    EXPECT_EQ(open_stack(folder / "planes.tif", {})->num_pages(), 5) << "each has a directory";
    write_one_directory(folder / "images.tif", ome("") + ome(""), 6);
    EXPECT_EQ(open_stack(folder / "images.tif", {})->num_pages(), 1) << "it is not said whose planes they are";
    write_one_directory(folder / "text.tif", "cells in May", 1);
    EXPECT_EQ(open_stack(folder / "text.tif", {})->num_pages(), 1);
}

TEST_F(Stack, TheColoursOfAPlaneOfOmeXmlAreNoPages) {
    const std::string text = "<OME><Image><Pixels SizeC=\"3\" SizeT=\"1\" SizeZ=\"4\"></Pixels></Image></OME>";
    write_one_directory(folder / "a.tif", text, 4, 3);
    EXPECT_EQ(open_stack(folder / "a.tif", {})->num_pages(), 4);
}

/// Description and what is not kept of the first of these pages; the others have none.
std::pair<std::string, std::vector<std::string>> described(const std::filesystem::path& path,
                                                           const std::vector<int64_t>& pages) {
    const auto file = open_stack(path, pages);
    std::pair<std::string, std::vector<std::string>> found{description_of(*file), file->metadata().not_kept};
    if (file->num_pages() > 1) {
        file->turn_to(1);
        EXPECT_EQ(description_of(*file), "");
    }
    return found;
}

TEST_F(Stack, SomePagesOfImageJKeepWhatHoldsForThem) {
    const std::filesystem::path path = folder / "a.tif";
    const std::string head = "ImageJ=1.54f\n", along = "images=5\nslices=5\nunit=um\nspacing=0.5\nmin=1.0\n";
    for (const bool is_one_directory : {false, true}) {
        if (is_one_directory)
            write_one_directory(path, head + along, 5);
        else
            write_planes(path, head + along);
        const std::string part = head + "images=2\nslices=2\nunit=um\nspacing=0.5\nmin=1.0\n";
        EXPECT_THAT(described(path, {0, 1}), testing::Pair(part, IsEmpty()));
        EXPECT_THAT(described(path, {3, 4}), testing::Pair(part, IsEmpty())) << "the first page is not among them";
        EXPECT_THAT(described(path, {1, 3}),
                    testing::Pair(head + "images=2\nslices=2\nunit=um\nmin=1.0\n",
                                  ElementsAre("ImageJ's spacing (only some pages are taken)")));
        EXPECT_THAT(described(path, {2}), testing::Pair(head + "unit=um\nspacing=0.5\nmin=1.0\n", IsEmpty()));
    }
    write_planes(path, "ImageJ=1.54f\nimages=4\nchannels=2\nslices=2\nmode=composite\nunit=um\nspacing=0.5\n");
    EXPECT_THAT(described(path, {0, 1}),
                testing::Pair("ImageJ=1.54f\nimages=2\nunit=um\n",
                              ElementsAre("ImageJ's channels, slices, mode, spacing (only some pages are taken)")));
}

TEST_F(Stack, SomePagesHaveNoDescriptionOfAll) {
    for (const char* description : {kOme, "{\"shape\": [5, 20, 30]}"}) {
        write_planes(folder / "a.tif", description);
        EXPECT_EQ(description_of(*open_stack(folder / "a.tif", std::vector<int64_t>{0, 1, 2, 3, 4})), description);
        for (const std::vector<int64_t>& some : {std::vector<int64_t>{0}, {0, 1}}) {
            const auto file = open_stack(folder / "a.tif", some);
            EXPECT_EQ(description_of(*file), "");
            EXPECT_THAT(file->metadata().not_kept, ElementsAre("ImageDescription (only some pages are taken)"));
        }
    }
    write_planes(folder / "a.tif", "ImageJ=1.54f\nimages=5\n");
    EXPECT_EQ(description_of(*open_stack(folder / "a.tif", std::vector<int64_t>{0, 1, 2, 3, 4})),
              "ImageJ=1.54f\nimages=5\n");
    write_planes(folder / "a.tif", "cells in May");
    EXPECT_EQ(description_of(*open_stack(folder / "a.tif", std::vector<int64_t>{0})), "cells in May");
}

}  // namespace
}  // namespace pb::image
