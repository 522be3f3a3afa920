#include "image/formats/metadata.hpp"
#include "image/formats/npy.hpp"
#include "image_support.hpp"
#include "support/file_size_limit.hpp"

#include "patchbench/base/enum_names.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <limits>
#include <string>
#include <tuple>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;
using testing::AllOf;
using testing::HasSubstr;
using SaveImage = test::InFolder;
using OpenImage = test::InFolder;

/// The smallest profile that libpng accepts: a header and no tags.
std::vector<std::byte> make_profile(bool colour, size_t bytes) {
    std::vector<std::byte> profile(bytes);
    const auto put = [&](size_t offset, const std::string& text) {
        std::ranges::copy(test::bytes_of(text), profile.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    for (size_t i = 0; i < 4; ++i) profile[i] = static_cast<std::byte>(bytes >> (24 - 8 * i));
    profile[8] = std::byte{2};
    put(12, colour ? "mntrRGB XYZ " : "mntrGRAYXYZ ");
    put(36, "acsp");
    const unsigned char d50[] = {0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D};
    for (size_t i = 0; i < sizeof d50; ++i) profile[68 + i] = static_cast<std::byte>(d50[i]);
    for (size_t i = 132; i < bytes; ++i) profile[i] = static_cast<std::byte>(i * 31 >> 3U);
    return profile;
}

/// A block whose only entry is the orientation.
std::vector<std::byte> make_exif(char orientation) {
    std::string block = "MM";
    block += {0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0};
    return test::bytes_of(block);
}

ImageMetadata make_metadata(int64_t channels, size_t profile_bytes) {
    ImageMetadata metadata;
    metadata.icc_profile = make_profile(channels == 3, profile_bytes);
    metadata.exif = make_exif(6);
    metadata.x_resolution_per_m = 300 / 0.0254;
    metadata.y_resolution_per_m = 200 / 0.0254;
    return metadata;
}

struct Kind {
    std::string name;
    std::vector<DType> dtypes;
    bool alpha;
};

TEST_F(SaveImage, PixelsAndAlphaSurviveInEveryFormatAndType) {
    const std::vector<DType> all{DType::u8, DType::u16, DType::f32};
    for (const Kind& kind :
         {Kind{"a.png", {DType::u8, DType::u16}, true}, Kind{"a.TIFF", all, true}, Kind{"a.npy", all, true}})
        for (const DType dtype : kind.dtypes)
            for (const int64_t channels : {1, 3})
                for (const Extent extent : {Extent{1, 1}, Extent{1, 300}, Extent{130, 1}, Extent{77, 53}}) {
                    const Image image = make_pattern(extent, channels, dtype);
                    const Image alpha = make_pattern(extent, 1, dtype, 999);
                    save_image({image.view(), {}, nullptr}, folder / kind.name);
                    EXPECT_TRUE(same_bytes(load_image(folder / kind.name), image)) << kind.name;
                    EXPECT_TRUE(open_image(folder / kind.name)->read_alpha().empty());
                    save_image({image.view(), alpha.view(), nullptr}, folder / kind.name);
                    EXPECT_TRUE(same_bytes(load_image(folder / kind.name), image)) << kind.name << " with alpha";
                    EXPECT_TRUE(same_bytes(open_image(folder / kind.name)->read_alpha(), alpha)) << kind.name;
                }
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.TIFF", "a.npy", "a.png"}));
}

TEST_F(SaveImage, PartsOfWiderImagesAreSavedAsTheyLook) {
    const Image image = make_pattern({40, 50}, 3, DType::u8);
    const Rect part{7, 9, {21, 33}};
    PixelView view = image.view();
    view.pixels = view.row(part.row) + static_cast<size_t>(part.column) * view.pixel_bytes();
    view.extent = part.extent;
    for (const char* name : {"a.png", "a.webp", "a.bmp", "a.tif", "a.npy"}) {
        save_image({view, {}, nullptr}, folder / name);
        EXPECT_TRUE(same_bytes(load_image(folder / name), test::crop(image, part))) << name;
    }
}

TEST_F(SaveImage, MetadataSurvives) {
    for (const int64_t channels : {1, 3})
        for (const size_t profile_bytes : {size_t{1000}, size_t{150000}}) {  // more than one JPEG marker holds
            const ImageMetadata metadata = make_metadata(channels, profile_bytes);
            const Image image = make_pattern({16, 16}, channels, DType::u8);
            for (const std::string name : {"a.png", "a.jpg", "a.tif"}) {
                save_image({image.view(), {}, &metadata}, folder / name);
                const auto file = open_image(folder / name);
                EXPECT_EQ(file->metadata().icc_profile, metadata.icc_profile) << name;
                ASSERT_TRUE(file->metadata().x_resolution_per_m.has_value()) << name;
                EXPECT_NEAR(*file->metadata().x_resolution_per_m, 300 / 0.0254, 0.5) << name;
                EXPECT_NEAR(*file->metadata().y_resolution_per_m, 200 / 0.0254, 0.5) << name;
                EXPECT_TRUE(name == "a.tif" || file->metadata().exif == metadata.exif) << name;
            }
        }
}

TEST_F(SaveImage, AProfileIsKeptThatLibpngWouldLeaveOut) {
    for (const int64_t channels : {1, 3}) {
        const Image image = make_pattern({16, 16}, channels, DType::u8);
        ImageMetadata of_other_colour{.icc_profile = make_profile(channels == 1, 1000)};
        ImageMetadata padded{.icc_profile = make_profile(channels == 3, 1000)};
        padded.icc_profile.resize(1004);
        for (const auto* metadata : {&of_other_colour, &padded}) {
            save_image({image.view(), {}, metadata}, folder / "a.png");
            EXPECT_EQ(open_image(folder / "a.png")->metadata().icc_profile, metadata->icc_profile);
            EXPECT_TRUE(same_bytes(load_image(folder / "a.png"), image));
        }
    }
}

TEST_F(SaveImage, OrientationGoesThroughEveryFormat) {
    const Image image = make_pattern({16, 16}, 3, DType::u8);
    ImageMetadata metadata;
    metadata.exif = make_exif(8);
    save_image({image.view(), {}, &metadata}, folder / "a.tif");
    const ImageMetadata from_tiff = open_image(folder / "a.tif")->metadata();
    EXPECT_FALSE(from_tiff.exif.empty());
    save_image({image.view(), {}, &from_tiff}, folder / "b.jpg");
    const ImageMetadata from_jpeg = open_image(folder / "b.jpg")->metadata();
    save_image({image.view(), {}, &from_jpeg}, folder / "c.tif");
    EXPECT_EQ(open_image(folder / "c.tif")->metadata().exif, from_tiff.exif);
}

TEST(Exif, AnOrientationBeyondTheEndOfTheBlockIsTheUsualOne) {
    const std::vector<std::byte> block = make_exif(6);
    EXPECT_EQ(exif_orientation(block), 6);
    EXPECT_EQ(exif_orientation(std::span(block).first(19)), 1) << "half of it is there";
}

/// Some programs write it as LONG or BYTE.
TEST(Exif, AnOrientationIsReadByItsType) {
    using namespace std::string_literals;
    const auto orientation = [](bool big_endian, char type, const std::string& value) {
        std::string block = big_endian ? "MM\0*\0\0\0\10\0\1\1\x12\0"s + type + "\0\0\0\1"s
                                       : "II*\0\10\0\0\0\1\0\x12\1"s + type + "\0\1\0\0\0"s;
        block += value + "\0\0\0\0"s;
        return exif_orientation(test::bytes_of(block));
    };
    constexpr char kByte = 1, kShort = 3, kLong = 4;
    EXPECT_EQ(orientation(true, kLong, "\0\0\0\6"s), 6);
    EXPECT_EQ(orientation(false, kLong, "\6\0\0\0"s), 6);
    EXPECT_EQ(orientation(true, kLong, "\0\6\0\0"s), 1) << "393216 is none";
    EXPECT_EQ(orientation(false, kLong, "\6\0\1\0"s), 1) << "65542 is none";
    EXPECT_EQ(orientation(true, kShort, "\0\6\1\1"s), 6) << "what follows the number has no meaning";
    EXPECT_EQ(orientation(false, kShort, "\6\0\1\1"s), 6);
    EXPECT_EQ(orientation(true, kByte, "\6\1\1\1"s), 6);
    EXPECT_EQ(orientation(false, kByte, "\6\1\1\1"s), 6);
}

TEST_F(SaveImage, TheOrientationIsNamedWithExifThatIsTooLong) {
    ImageMetadata metadata{.exif = make_exif(6)};
    metadata.exif.resize(65528);
    EXPECT_THAT(lost_metadata(metadata, "a.jpg", false),
                testing::ElementsAre("EXIF of more than 64 KB, with its orientation"));
    EXPECT_THAT(lost_metadata(metadata, "a.PNG", false), testing::IsEmpty());
    metadata.exif.resize(7'999'989);
    EXPECT_THAT(lost_metadata(metadata, "a.PNG", false),
                testing::ElementsAre("EXIF of more than 8 MB, with its orientation"));
}

TEST_F(SaveImage, ATiffKeepsTheOrientationOfExifAndNamesTheRest) {
    ImageMetadata metadata;
    metadata.exif = make_orientation_exif(6);
    EXPECT_THAT(lost_metadata(metadata, "a.tif", false), testing::IsEmpty());
    metadata.exif.push_back(std::byte{1});
    EXPECT_THAT(lost_metadata(metadata, "a.tif", false), testing::ElementsAre("EXIF but its orientation"));
}

TEST_F(SaveImage, AnArrayKeepsNoMetadataAndNamesAll) {
    ImageMetadata metadata = make_metadata(3, 200);
    for (const char* name : {"a.npy", "a.raw"})
        EXPECT_THAT(lost_metadata(metadata, name, false),
                    testing::ElementsAre("colour profile", "EXIF, with its orientation", "resolution"));
    metadata.exif = make_orientation_exif(1);
    EXPECT_THAT(lost_metadata(metadata, "a.raw", false), testing::Contains("EXIF"));
}

TEST(LostMetadata, OfMoreThanAHundredNamesTheRestAreOthers) {
    ImageMetadata metadata;
    for (int i = 0; i < 150; ++i) name_lost("chunk " + std::to_string(i), metadata);
    EXPECT_EQ(metadata.not_kept.size(), 101U);
    EXPECT_EQ(metadata.not_kept.back(), "and others");
}

TEST(IsImageName, IsThatOfAFormatWithAHeader) {
    for (const char* name : {"a.png", "a.JPEG", "b/a.tif", "a.npy"}) EXPECT_TRUE(is_image_name(name)) << name;
    for (const char* name : {"a.raw", "a.txt", "png", ""}) EXPECT_FALSE(is_image_name(name)) << name;
}

TEST_F(SaveImage, NothingIsInventedWhereThereIsNoMetadata) {
    const Image image = make_pattern({16, 16}, 3, DType::u8);
    for (const std::string name : {"a.png", "a.jpg", "a.webp", "a.bmp", "a.tif", "a.npy"}) {
        save_image({image.view(), {}, nullptr}, folder / name);
        const auto file = open_image(folder / name);
        EXPECT_TRUE(file->metadata().icc_profile.empty()) << name;
        EXPECT_TRUE(file->metadata().exif.empty()) << name;
        EXPECT_FALSE(file->metadata().x_resolution_per_m.has_value()) << name;
        const ImageMetadata empty;
        save_image({image.view(), {}, &empty}, folder / ("b-" + name));
        EXPECT_EQ(test::read_bytes(folder / ("b-" + name)), test::read_bytes(folder / name)) << name;
    }
}

TEST_F(SaveImage, FloatsAreNotClipped) {
    Image image({1, 4}, 1, DType::f32);
    const float values[] = {-3.5F, 1.0F, 1e20F, std::numeric_limits<float>::max()};
    std::ranges::copy(values, image.as<float>());
    for (const char* name : {"a.tif", "a.npy"}) {
        save_image({image.view(), {}, nullptr}, folder / name);
        EXPECT_TRUE(same_bytes(load_image(folder / name), image));
    }
}

std::string refusal(const ImageInfo& info, const std::filesystem::path& path) {
    return usage_error([&] { check_can_save(info, path); });
}

TEST_F(SaveImage, WideTypesAndBandsSurviveWhereAFormatHoldsThem) {
    for (const DType dtype : {DType::i16, DType::u32, DType::f16, DType::f64, DType::u8})
        for (const int64_t channels : {1, 3, 5, 7}) {
            const Image image = make_pattern({37, 23}, channels, dtype);
            for (const char* name : {"a.npy", "a.tif"}) {
                save_image({image.view(), {}, nullptr}, folder / name);
                const auto file = open_image(folder / name);
                EXPECT_EQ(file->info().channels, channels);
                EXPECT_EQ(file->info().dtype, dtype);
                EXPECT_FALSE(file->info().has_alpha);
                test::expect_parts_equal_whole(folder / name, image);
            }
            save_image({image.view(), {}, nullptr}, folder / "a.raw");
            const auto raw = open_raw_image(folder / "a.raw", {image.extent(), channels, dtype});
            EXPECT_TRUE(test::same_bytes(test::read_part(*raw, {0, 0, image.extent()}), image));
            const std::string reason =
                channels > 3 ? std::to_string(channels) + " colour channels" : std::string(name_of(dtype));
            if (dtype == DType::u8 && channels <= 3) continue;  // that is what PNG holds
            EXPECT_THAT(refusal({image.extent(), channels, dtype}, folder / "a.png"), HasSubstr(reason));
        }
}

TEST(CheckCanSave, SaysEarlyWhatSavingWouldSay) {
    const test::TemporaryFolder folder;
    const ImageInfo rgb{{10, 10}, 3, DType::u8, false};
    const ImageInfo rgba{{10, 10}, 3, DType::u8, true};
    const ImageInfo deep{{10, 10}, 3, DType::u16, false};
    const ImageInfo floats{{10, 10}, 1, DType::f32, false};
    EXPECT_THAT(refusal(rgb, folder / "a"), HasSubstr("its name has no extension"));
    EXPECT_THAT(refusal(rgb, folder / "a.gif"), AllOf(HasSubstr("extension '.gif'"), HasSubstr(".raw")));
    EXPECT_THAT(refusal(rgb, ""), HasSubstr("'' is not a file name"));
    EXPECT_THAT(refusal(rgba, folder / "a.jpg"), HasSubstr("alpha"));
    EXPECT_THAT(refusal(deep, folder / "a.jpg"), AllOf(HasSubstr("u16"), HasSubstr("use .png, .tif or .npy")));
    EXPECT_THAT(refusal({{10, 10}, 3, DType::i16}, folder / "a.png"), HasSubstr("use .tif or .npy"));
    EXPECT_THAT(refusal(floats, folder / "a.png"), HasSubstr("f32"));
    EXPECT_THAT(refusal(deep, folder / "a.webp"), AllOf(HasSubstr("WebP"), HasSubstr("u16")));
    EXPECT_THAT(refusal({{10, 16384}, 3, DType::u8, false}, folder / "a.webp"), HasSubstr("16383"));
    EXPECT_THAT(refusal({{10, 65501}, 3, DType::u8, false}, folder / "a.jpg"), HasSubstr("65500"));
    EXPECT_THAT(refusal({{0, 10}, 3, DType::u8, false}, folder / "a.png"), HasSubstr("no pixels"));
    EXPECT_THAT(refusal({{10, 10}, 5, DType::u8, true}, folder / "a.tif"), HasSubstr("without alpha"));
    EXPECT_THAT(refusal(rgb, folder / "missing/a.png"), HasSubstr("no folder"));
    EXPECT_THAT(refusal(rgb, "/proc/a.png"), HasSubstr("/proc/a.png"));
    for (const char* name : {"a.png", "a.jpg", "a.jpeg", "a.webp", "a.bmp", "a.tif", "a.tiff", "a.npy", "a.PNG"})
        EXPECT_NO_THROW(check_can_save(rgb, folder / name));
    EXPECT_TRUE(folder.names().empty());
    EXPECT_THROW(save_image({make_pattern({4, 4}, 3, DType::f32).view(), {}, nullptr}, folder / "a.png"), UsageError);
    EXPECT_TRUE(folder.names().empty());
}

TEST_F(SaveImage, ColoursMultipliedByAlphaNeedATiff) {
    const Image image = make_pattern({4, 4}, 3, DType::u8);
    const Image alpha = make_pattern({4, 4}, 1, DType::u8);
    ImageMetadata metadata;
    metadata.premultiplied_alpha = true;
    for (const char* name : {"a.png", "a.webp", "a.bmp"})
        EXPECT_THROW(save_image({image.view(), alpha.view(), &metadata}, folder / name), UsageError) << name;
    EXPECT_TRUE(folder.names().empty());
    EXPECT_NO_THROW(save_image({image.view(), alpha.view(), &metadata}, folder / "a.tif"));
}

TEST_F(SaveImage, AFullDiskIsAnErrorAndLeavesNothing) {
    const Image image = test::make_pattern({200, 200}, 3, DType::u8);
    for (const std::string name : {"a.png", "a.jpg", "a.tif", "a.npy"}) {
        const test::FileSizeLimit limit(1000);
        EXPECT_THAT(error_of<Error>([&] {
                        save_image({image.view(), {}, nullptr}, folder / name);
                    }),
                    AllOf(HasSubstr(name), HasSubstr("File too large")));
    }
    EXPECT_TRUE(folder.names().empty());
}

TEST_F(OpenImage, RefusesWhatIsNoImageFile) {
    EXPECT_THAT(test::refusal_of(folder / "missing.png"), HasSubstr("No such file"));
    EXPECT_THAT(test::refusal_of(folder.path()), HasSubstr("folder"));
    EXPECT_THAT(test::refusal_of("/dev/zero"), HasSubstr("regular"));
    ASSERT_EQ(::mkfifo((folder / "pipe.png").c_str(), 0600), 0);
    EXPECT_THAT(test::refusal_of(folder / "pipe.png"), HasSubstr("regular"));
    test::write_bytes(folder / "nothing.png", {});
    EXPECT_THAT(test::refusal_of(folder / "nothing.png"), HasSubstr("empty"));
    test::write_bytes(folder / "text.png", {'h', 'e', 'l', 'l', 'o'});
    EXPECT_THAT(test::refusal_of(folder / "text.png"), AllOf(HasSubstr("none of PNG"), HasSubstr("--raw")));
}

TEST_F(OpenImage, RefusesAVideoWithTheCommandThatMakesFrames) {
    using namespace std::string_literals;
    for (const std::string& start :
         {"\0\0\0 ftypisom"s, "\x1a\x45\xdf\xa3........"s, "RIFF....AVI "s, "\0\0\1\xba...."s}) {
        test::write_bytes(folder / "film.mp4", {start.begin(), start.end()});
        EXPECT_THAT(test::refusal_of(folder / "film.mp4"),
                    AllOf(HasSubstr("is a video"), HasSubstr("mkdir film_frames; ffmpeg -i "),
                          HasSubstr("film.mp4 film_frames/")));
    }
}

TEST_F(OpenImage, NamesFormatsThatItDoesNotReadAndTheWayOut) {
    using namespace std::string_literals;
    const auto refusal_of = [&](const std::string& start, size_t bytes) {
        std::string content = start;
        content.resize(bytes, '\0');
        test::write_bytes(folder / "a.x", {content.begin(), content.end()});
        return test::refusal_of(folder / "a.x");
    };
    for (const auto& [start, name, way_out] : {std::tuple("\0\0\0 ftypheic"s, "HEIF", "magick"),
                                               {"\0\0\0 ftypavif"s, "AVIF", "magick"},
                                               {"\0\0\0 ftypcrx "s, "a raw file of a camera", "darktable"},
                                               {"SIMPLE  =  T"s, "FITS", ".npy"},
                                               {std::string(128, '\0') + "DICM", "DICOM", ".npy"},
                                               {"\x70\0\0\0\x1a"s, "LIF", "Fiji"},
                                               {std::string(208, '\1') + "MAP ", "MRC", ".npy"},
                                               {"\0\0\0\x0cJXL \r\n"s, "JPEG XL", "magick"},
                                               {"\0\0\0\x0cjP  "s, "JPEG 2000", "magick"},
                                               {"GIF89a"s, "GIF", "magick"},
                                               {"v/1\1"s, "OpenEXR", "magick"}})
        for (const size_t bytes : {start.size(), size_t{5000}})
            EXPECT_THAT(refusal_of(start, bytes), AllOf(HasSubstr("it is " + std::string(name)), HasSubstr(way_out),
                                                        testing::Not(HasSubstr("--raw"))))
                << bytes;
}

TEST_F(OpenImage, TellsTheFormatByItsContent) {
    const Image image = make_pattern({5, 6}, 3, DType::u8);
    save_image({image.view(), {}, nullptr}, folder / "a.png");
    std::filesystem::rename(folder / "a.png", folder / "a.tif");
    EXPECT_TRUE(same_bytes(load_image(folder / "a.tif"), image));
}

TEST_F(OpenImage, PartsOutsideTheImageAreRefused) {
    const Image image = make_pattern({5, 6}, 3, DType::u8);
    for (const char* name : {"a.png", "a.webp", "a.bmp", "a.tif", "a.npy"}) {
        save_image({image.view(), {}, nullptr}, folder / name);
        const auto file = open_image(folder / name);
        EXPECT_THROW((void)test::read_part(*file, {0, 0, {6, 6}}), Error);
        EXPECT_THROW((void)test::read_part(*file, {-1, 0, {2, 2}}), Error);
        EXPECT_THROW((void)test::read_part(*file, {0, 5, {1, 2}}), Error);
        Image wrong({5, 6}, 3, DType::u16);
        EXPECT_THROW(file->read({0, 0, {5, 6}}, wrong.view()), Error);
    }
}

/// PNG and BMP hold whole dots per metre of 31 bits, as microscopes and maps go beyond.
TEST(ImageFile, ResolutionsThatAFormatCannotHoldAreNamedNotWrapped) {
    const test::TemporaryFolder folder;
    const Image image = make_pattern({4, 4}, 3, DType::u8);
    for (const char* const name : {"a.png", "a.bmp"})
        for (const auto& [per_m, is_kept] :
             {std::pair{0.1, false}, {30.0, true}, {2147483647.0, true}, {2147483648.0, false}, {1e10, false}}) {
            ImageMetadata metadata;
            metadata.x_resolution_per_m = 1000;
            metadata.y_resolution_per_m = per_m;
            save_image({.pixels = image.view(), .metadata = &metadata}, folder / name);
            const auto read = open_image(folder / name)->metadata().y_resolution_per_m;
            EXPECT_EQ(read, is_kept ? std::optional(per_m) : std::nullopt) << name;
            const std::vector<std::string> lost = lost_metadata(metadata, name, false);
            EXPECT_EQ(lost, is_kept ? std::vector<std::string>{} : std::vector<std::string>{"resolution"})
                << name << per_m;
        }
}

TEST(Metadata, NamesOfWhatIsLostHaveALimit) {
    ImageMetadata metadata;
    for (int i = 0; i < 1000; ++i) name_lost("chunk " + std::to_string(i % 500), metadata);
    ASSERT_EQ(metadata.not_kept.size(), 101U);
    EXPECT_EQ(metadata.not_kept.front(), "chunk 0");
    EXPECT_EQ(metadata.not_kept.back(), "and others");
}

}  // namespace
}  // namespace pb::image
