#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"
#include "image/synthetic.hpp"
#include "image_support.hpp"
#include "support/psnr.hpp"

#include <gmock/gmock.h>
#include <jpeglib.h>

#include <cstdio>
#include <string>

namespace pb::image {
namespace {

using testing::HasSubstr;
using Jpeg = test::InFolder;

struct JpegKind {
    J_COLOR_SPACE colours = JCS_YCbCr;
    bool progressive = false;
    std::vector<std::pair<int, std::string>> markers = {};
};

/// A 16 x 8 file of 1, 3 or 4 components.
void write_jpeg_fixture(const std::filesystem::path& path, const JpegKind& kind) {
    jpeg_compress_struct codec{};
    jpeg_error_mgr errors{};
    codec.err = jpeg_std_error(&errors);
    jpeg_create_compress(&codec);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    jpeg_stdio_dest(&codec, file);
    codec.image_width = 16;
    codec.image_height = 8;
    codec.input_components = kind.colours == JCS_CMYK ? 4 : 3;
    codec.in_color_space = kind.colours == JCS_CMYK ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&codec);
    jpeg_set_colorspace(&codec, kind.colours);
    if (kind.progressive) jpeg_simple_progression(&codec);
    jpeg_start_compress(&codec, TRUE);
    for (const auto& [marker, text] : kind.markers)
        jpeg_write_marker(&codec, marker, reinterpret_cast<const JOCTET*>(text.data()),
                          static_cast<unsigned>(text.size()));
    std::vector<JSAMPLE> samples(64, 90);
    JSAMPROW row = samples.data();
    for (int y = 0; y < 8; ++y) jpeg_write_scanlines(&codec, &row, 1);
    jpeg_finish_compress(&codec);
    jpeg_destroy_compress(&codec);
    std::fclose(file);
}

TEST_F(Jpeg, ColoursAreReadAsRgb) {
    for (const JpegKind& kind : {JpegKind{JCS_YCbCr, false}, JpegKind{JCS_YCbCr, true}, JpegKind{JCS_RGB, false}}) {
        write_jpeg_fixture(folder / "a.jpg", kind);
        const Image image = load_image(folder / "a.jpg");
        EXPECT_EQ(image.channels(), 3);
        for (int i = 0; i < 16 * 8 * 3; ++i) EXPECT_NEAR(image.as<uint8_t>()[i], 90, 2);
    }
}

TEST_F(Jpeg, ColoursAreWrittenAtFullResolution) {
    Image image({16, 16}, 3, DType::u8);
    for (int64_t i = 0; i < image.num_samples(); ++i)
        image.as<uint8_t>()[i] = (i % 3 == 0) == (i / 3 % 2 == 0) ? 160 : 80;  // columns of red and of cyan in turn
    save_image({.pixels = image.view(), .alpha = {}}, folder / "a.jpg");
    const Image read = load_image(folder / "a.jpg");
    for (int64_t i = 0; i < image.num_samples(); ++i)
        EXPECT_NEAR(read.as<uint8_t>()[i], image.as<uint8_t>()[i], 4) << i;
}

TEST_F(Jpeg, CmykIsRefusedByName) {
    write_jpeg_fixture(folder / "a.jpg", {JCS_CMYK, false});
    EXPECT_THAT(test::refusal_of(folder / "a.jpg"), HasSubstr("CMYK"));
}

TEST_F(Jpeg, MetadataThatNoOutputKeepsIsNamed) {
    const auto not_kept = [&](int marker, const std::string& text) {
        write_jpeg_fixture(folder / "a.jpg", {.markers = {{marker, text}}});
        return open_image(folder / "a.jpg")->metadata().not_kept;
    };
    EXPECT_THAT(not_kept(JPEG_APP0 + 1, std::string("http://ns.adobe.com/xmp/extension/\0rest", 39)),
                testing::ElementsAre("XMP of more than 64 KB"));
    EXPECT_THAT(not_kept(JPEG_APP0 + 1, "FLIR"), testing::ElementsAre("data of a program (APP1)"));
    EXPECT_THAT(not_kept(JPEG_APP0 + 11, "JP"), testing::ElementsAre("content credentials (APP11)"));
    EXPECT_THAT(not_kept(JPEG_APP0 + 2, "MPF"), testing::ElementsAre("further pictures"));
    EXPECT_THAT(not_kept(JPEG_APP0 + 2, std::string("ICC_PROFILE\0\1\2half of it", 25)),
                testing::ElementsAre("damaged colour profile"));
    EXPECT_THAT(not_kept(JPEG_APP0 + 14, std::string("Adobe\0\144\0\0\0\0\1", 12)), testing::IsEmpty());
    EXPECT_THAT(not_kept(JPEG_APP0 + 13, "Photoshop 3.0"), testing::IsEmpty()) << "it is copied";
}

/// APP0 is JFIF's, APP2 the profile's and APP14 Adobe's; others use these numbers, too.
TEST_F(Jpeg, DataOfProgramsAreNamedWithTheirMarker) {
    for (const int application : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15})
        for (const std::string& text : {std::string("JFXX\0\20", 6), std::string("FPXR\0", 5), std::string("Adob")}) {
            write_jpeg_fixture(folder / "a.jpg", {.markers = {{JPEG_APP0 + application, text}}});
            EXPECT_THAT(open_image(folder / "a.jpg")->metadata().not_kept,
                        testing::ElementsAre("data of a program (APP" + std::to_string(application) + ")"));
        }
    for (const auto& [application, text] :
         {std::pair{2, "JFIF"}, {0, "Adobe"}, {14, "ICC_PROFILE"}, {0, "MPF"}, {2, "ICC_PROFILES"}}) {
        write_jpeg_fixture(folder / "a.jpg", {.markers = {{JPEG_APP0 + application, text}}});
        EXPECT_THAT(open_image(folder / "a.jpg")->metadata().not_kept,
                    testing::ElementsAre("data of a program (APP" + std::to_string(application) + ")"));
    }
}

TEST_F(Jpeg, TheFirstWholeExifIsKept) {
    const auto read = [&](const std::vector<std::string>& blocks) {
        JpegKind kind;
        for (const std::string& block : blocks)
            kind.markers.emplace_back(JPEG_APP0 + 1, std::string(kExifMark) + block);
        write_jpeg_fixture(folder / "a.jpg", kind);
        return open_image(folder / "a.jpg")->metadata();
    };
    const std::string first("II*\0\10\0\0\0first", 13), second("MM\0*\0\0\0\10second", 14);
    EXPECT_EQ(read({first, second}).exif, test::bytes_of(first));
    EXPECT_THAT(read({first, second}).not_kept, testing::ElementsAre("a second packet of EXIF"));
    EXPECT_EQ(read({"of a camera", second}).exif, test::bytes_of(second));
    EXPECT_THAT(read({"of a camera", second}).not_kept, testing::ElementsAre("damaged EXIF"));
    EXPECT_THAT(read({""}).not_kept, testing::ElementsAre("damaged EXIF"));
}

TEST_F(Jpeg, XmpCommentsAndIptcSurvive) {
    const std::string packet(kMostXmpInJpeg, 'x');
    write_jpeg_fixture(folder / "a.jpg", {.markers = {{JPEG_APP0 + 1, std::string(kXmpMark) + packet},
                                                      {JPEG_APP0 + 1, std::string(kXmpMark) + "a second one"},
                                                      {JPEG_COM, "a comment"},
                                                      {JPEG_APP0 + 13, "Photoshop 3.0"},
                                                      {JPEG_COM, ""}}});
    const ImageMetadata metadata = open_image(folder / "a.jpg")->metadata();
    EXPECT_EQ(metadata.xmp, test::bytes_of(packet));
    EXPECT_THAT(lost_metadata(metadata, "b.jpeg", false), testing::ElementsAre("a second packet of XMP"));
    EXPECT_THAT(lost_metadata(metadata, "b.png", false),
                testing::ElementsAre("comment", "IPTC", "a second packet of XMP"));
    EXPECT_THAT(lost_metadata(metadata, "b.bmp", false),
                testing::ElementsAre("XMP", "comment", "IPTC", "a second packet of XMP"));
    save_image({load_image(folder / "a.jpg").view(), {}, &metadata}, folder / "b.jpeg");
    const ImageMetadata written = open_image(folder / "b.jpeg")->metadata();
    EXPECT_EQ(written.xmp, metadata.xmp);
    ASSERT_EQ(written.format_blocks.size(), 3);
    EXPECT_EQ(written.format_blocks[0].content, test::bytes_of("a comment"));
    EXPECT_EQ(written.format_blocks[1].content, test::bytes_of("Photoshop 3.0"));
    EXPECT_EQ(written.format_blocks[1].type, "APP13");
    EXPECT_TRUE(written.format_blocks[2].content.empty());
}

TEST_F(Jpeg, CommentsBeyondAThousandAreNamed) {
    write_jpeg_fixture(folder / "a.jpg", {.markers = std::vector(1001, std::pair(JPEG_COM, std::string()))});
    const ImageMetadata metadata = open_image(folder / "a.jpg")->metadata();
    EXPECT_EQ(metadata.format_blocks.size(), 1000);
    EXPECT_THAT(metadata.not_kept, testing::ElementsAre("comment, beyond 1000 of them"));
}

/// A marker has 65533 bytes, less its mark; of those with a profile there are 255.
TEST_F(Jpeg, WhatFitsIntoItsMarkersIsKeptAndMoreIsNamed) {
    const Image image = test::make_pattern({16, 16}, 3, DType::u8);
    const auto make = [](size_t profile, size_t exif, size_t xmp) {
        ImageMetadata metadata{.icc_profile = std::vector(profile, std::byte{'p'}),
                               .exif = test::bytes_of(std::string("II*\0\10\0\0\0", 8)),
                               .xmp = std::vector(xmp, std::byte{'x'})};
        metadata.exif.resize(exif, std::byte{'e'});
        return metadata;
    };
    const ImageMetadata most = make(255 * 65519, 65527, 65504);
    EXPECT_THAT(lost_metadata(most, "a.jpg", false), testing::IsEmpty());
    save_image({image.view(), {}, &most}, folder / "a.jpg");
    const ImageMetadata read = open_image(folder / "a.jpg")->metadata();
    EXPECT_EQ(read.icc_profile, most.icc_profile);
    EXPECT_EQ(read.exif, most.exif);
    EXPECT_EQ(read.xmp, most.xmp);
    EXPECT_THAT(read.not_kept, testing::IsEmpty());
    const ImageMetadata more = make(255 * 65519 + 1, 65528, 65505);
    EXPECT_THAT(lost_metadata(more, "a.jpeg", false),
                testing::ElementsAre("colour profile of more than 16.7 MB", "EXIF of more than 64 KB",
                                     "XMP of more than 64 KB"));
    save_image({image.view(), {}, &more}, folder / "a.jpg");
    const ImageMetadata without = open_image(folder / "a.jpg")->metadata();
    EXPECT_TRUE(without.icc_profile.empty() && without.exif.empty() && without.xmp.empty());
    EXPECT_THAT(without.not_kept, testing::IsEmpty());
}

void replace_in(const std::filesystem::path& path, const std::string& old, const std::string& now) {
    const std::vector<char> bytes = test::read_bytes(path);
    std::string text(bytes.begin(), bytes.end());
    const size_t place = text.find(old);
    ASSERT_NE(place, std::string::npos);
    text.replace(place, old.size(), now);
    test::write_bytes(path, {text.begin(), text.end()});
}

/// As some cameras write it: other readers ignore it, too.
TEST_F(Jpeg, ProgressiveParametersInASequentialFileAreHarmless) {
    write_jpeg_fixture(folder / "a.jpg", {});
    const Image image = load_image(folder / "a.jpg");
    replace_in(folder / "a.jpg", std::string("\3\x11\0\x3F\0", 5), std::string("\3\x11\0\0\0", 5));
    EXPECT_TRUE(test::same_bytes(load_image(folder / "a.jpg"), image));
}

TEST_F(Jpeg, OfMoreBitsIsRefusedByName) {
    write_jpeg_fixture(folder / "a.jpg", {});
    replace_in(folder / "a.jpg", std::string("\xFF\xC0\0\x11\x08", 5), std::string("\xFF\xC0\0\x11\x0C", 5));
    EXPECT_THAT(test::refusal_of(folder / "a.jpg"), AllOf(HasSubstr("8 bits"), HasSubstr("precision 12")));
}

TEST_F(Jpeg, PixelsThatAreNotSquareAreNamed) {
    write_jpeg_fixture(folder / "a.jpg", {});
    EXPECT_THAT(open_image(folder / "a.jpg")->metadata().not_kept, testing::IsEmpty());
    replace_in(folder / "a.jpg", std::string("JFIF\0\1\1\0\0\1\0\1", 12), std::string("JFIF\0\1\1\0\0\2\0\1", 12));
    EXPECT_THAT(open_image(folder / "a.jpg")->metadata().not_kept, testing::ElementsAre("ratio of a pixel's sides"));
}

TEST_F(Jpeg, WhatIsWrittenIsCloseToTheImage) {
    for (const int64_t channels : {1, 3}) {
        Image scene({150, 210}, channels, DType::f32);
        fill_scene(2, 0, 0, scene.view());
        Image integers(scene.extent(), channels, DType::u8);
        from_float(scene.view(), integers.view());
        save_image({integers.view(), {}, nullptr}, folder / "a.jpg");
        Image back(scene.extent(), channels, DType::f32);
        to_float(load_image(folder / "a.jpg").view(), back.view());
        EXPECT_GT(test::psnr(back.view(), scene.view()), 35);
    }
}

TEST_F(Jpeg, WholeDotsPerInchOrPerCentimetreSurvive) {
    const Image image = test::make_pattern({8, 8}, 1, DType::u8);
    for (const double per_metre : {72 / 0.0254, 96 / 0.0254, 300 / 0.0254, 40 / 0.01, 101 / 0.01}) {
        ImageMetadata metadata;
        metadata.x_resolution_per_m = metadata.y_resolution_per_m = per_metre;
        save_image({image.view(), {}, &metadata}, folder / "a.jpg");
        EXPECT_NEAR(open_image(folder / "a.jpg")->metadata().x_resolution_per_m.value_or(0), per_metre, 1e-6);
    }
}

TEST_F(Jpeg, AFileCutShortIsAnErrorNotGray) {
    const Image image = test::make_pattern({64, 64}, 3, DType::u8);
    save_image({image.view(), {}, nullptr}, folder / "a.jpg");
    auto bytes = test::read_bytes(folder / "a.jpg");
    bytes.resize(bytes.size() / 2);
    test::write_bytes(folder / "a.jpg", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.jpg"), HasSubstr("truncated"));
}

ImageMetadata with_resolution(double per_m) {
    ImageMetadata metadata;
    metadata.x_resolution_per_m = metadata.y_resolution_per_m = per_m;
    return metadata;
}

TEST_F(Jpeg, AResolutionThatOneUnitCannotHoldIsKeptInTheOther) {
    const Image image = test::make_pattern({8, 8}, 1, DType::u8);
    for (const double per_m : {4e6, 6553500.0, 100.0, 50.0}) {  // 4e6: pixels of 0.25 um, 101600 dots per inch
        const ImageMetadata metadata = with_resolution(per_m);
        save_image({image.view(), {}, &metadata}, folder / "a.jpg");
        EXPECT_NEAR(open_image(folder / "a.jpg")->metadata().x_resolution_per_m.value_or(0), per_m, per_m * 0.25);
        EXPECT_THAT(lost_metadata(metadata, folder / "a.jpg", false), testing::IsEmpty());
    }
}

TEST_F(Jpeg, AResolutionThatNoUnitHoldsIsNamedAsLost) {
    const Image image = test::make_pattern({8, 8}, 1, DType::u8);
    for (const double per_m : {1e8, 6553560.0, 10.0}) {
        const ImageMetadata metadata = with_resolution(per_m);
        save_image({image.view(), {}, &metadata}, folder / "a.jpg");
        EXPECT_FALSE(open_image(folder / "a.jpg")->metadata().x_resolution_per_m.has_value()) << per_m;
        EXPECT_THAT(lost_metadata(metadata, folder / "a.jpg", false), testing::ElementsAre("resolution"));
    }
}

}  // namespace
}  // namespace pb::image
