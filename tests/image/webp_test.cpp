#include "image_support.hpp"

#include <gmock/gmock.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <functional>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Webp = test::InFolder;

std::vector<char> chars_of(const uint8_t* first, size_t count) {
    return {reinterpret_cast<const char*>(first), reinterpret_cast<const char*>(first) + count};
}

/// An RGB image at quality 90, as cameras and phones write it.
std::vector<char> make_lossy(const Image& image) {
    uint8_t* encoded = nullptr;
    const size_t count =
        WebPEncodeRGB(image.as<uint8_t>(), static_cast<int>(image.extent().w), static_cast<int>(image.extent().h),
                      static_cast<int>(image.row_bytes()), 90, &encoded);
    const std::vector<char> bytes = chars_of(encoded, count);
    WebPFree(encoded);
    return bytes;
}

/// `pixels` with what `change` does to its container.
std::vector<char> with_chunks(const std::vector<char>& pixels, const std::function<void(WebPMux*)>& change) {
    WebPMux* mux = WebPMuxNew();
    const WebPData data{reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()};
    if (change == nullptr) {
        WebPMuxFrameInfo frame{};
        frame.bitstream = data;
        frame.id = WEBP_CHUNK_ANMF;
        frame.duration = 100;
        for (int i = 0; i < 2; ++i) WebPMuxPushFrame(mux, &frame, 1);
        const WebPMuxAnimParams endless{};
        WebPMuxSetAnimationParams(mux, &endless);
    } else {
        WebPMuxSetImage(mux, &data, 1);
        change(mux);
    }
    WebPData whole{};
    EXPECT_EQ(WebPMuxAssemble(mux, &whole), WEBP_MUX_OK);
    const std::vector<char> bytes = chars_of(whole.bytes, whole.size);
    WebPDataClear(&whole);
    WebPMuxDelete(mux);
    return bytes;
}

void set_chunk(WebPMux* mux, const char* name, const std::string& content) {
    const WebPData chunk{reinterpret_cast<const uint8_t*>(content.data()), content.size()};
    WebPMuxSetChunk(mux, name, &chunk, 1);
}

TEST_F(Webp, ColoursAndAlphaSurvive) {
    for (const Extent extent : {Extent{1, 1}, Extent{1, 300}, Extent{130, 1}, Extent{77, 53}}) {
        const Image image = make_pattern(extent, 3, DType::u8);
        Image alpha = make_pattern(extent, 1, DType::u8, 999);
        alpha.as<uint8_t>()[0] = 0;  // colours below a transparent pixel survive, too
        save_image({image.view(), {}, nullptr}, folder / "a.webp");
        EXPECT_TRUE(same_bytes(load_image(folder / "a.webp"), image));
        EXPECT_TRUE(open_image(folder / "a.webp")->read_alpha().empty());
        save_image({image.view(), alpha.view(), nullptr}, folder / "a.webp");
        EXPECT_TRUE(same_bytes(load_image(folder / "a.webp"), image));
        EXPECT_TRUE(same_bytes(open_image(folder / "a.webp")->read_alpha(), alpha));
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.webp"});
}

TEST_F(Webp, GrayIsWrittenAsThreeEqualChannels) {
    const Image gray = make_pattern({30, 20}, 1, DType::u8);
    const Image alpha = make_pattern({30, 20}, 1, DType::u8, 5);
    for (const PixelView& with : {PixelView{}, alpha.view()}) {
        save_image({gray.view(), with, nullptr}, folder / "a.webp");
        const Image read = load_image(folder / "a.webp");
        ASSERT_EQ(read.channels(), 3);
        for (int64_t i = 0; i < 600 * 3; ++i) ASSERT_EQ(read.as<uint8_t>()[i], gray.as<uint8_t>()[i / 3]);
    }
    EXPECT_TRUE(same_bytes(open_image(folder / "a.webp")->read_alpha(), alpha));
}

TEST_F(Webp, LossyFilesAreRead) {
    Image image({40, 60}, 3, DType::u8);
    for (int i = 0; i < 40 * 60 * 3; ++i) image.as<uint8_t>()[i] = static_cast<uint8_t>(60 + i / 180 + i % 3 * 40);
    test::write_bytes(folder / "a.webp", make_lossy(image));
    test::expect_parts_equal_whole(folder / "a.webp", load_image(folder / "a.webp"));
    const Image read = load_image(folder / "a.webp");
    for (int i = 0; i < 40 * 60 * 3; ++i) ASSERT_NEAR(read.as<uint8_t>()[i], image.as<uint8_t>()[i], 8) << i;
}

TEST_F(Webp, MetadataSurviveAndOthersAreNamed) {
    const Image image = make_pattern({16, 16}, 3, DType::u8);
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of("a profile of odd length");
    metadata.exif = test::bytes_of(std::string("II*\0\10\0\0\0\0\0\0\0\0\0", 14));
    metadata.x_resolution_per_m = metadata.y_resolution_per_m = 3000;
    save_image({image.view(), {}, &metadata}, folder / "a.webp");
    const auto file = open_image(folder / "a.webp");
    EXPECT_EQ(file->metadata().icc_profile, metadata.icc_profile);
    EXPECT_EQ(file->metadata().exif, metadata.exif);
    EXPECT_TRUE(same_bytes(load_image(folder / "a.webp"), image));
    EXPECT_THAT(lost_metadata(metadata, "b.webp", false), ElementsAre("resolution"));
    EXPECT_THAT(lost_metadata(file->metadata(), "b.webp", false), IsEmpty());
    EXPECT_THAT(lost_metadata(file->metadata(), "b.png", false), IsEmpty());
    const ImageMetadata exif_alone{.exif = metadata.exif};
    save_image({image.view(), {}, &exif_alone}, folder / "b.webp");
    EXPECT_EQ(open_image(folder / "b.webp")->metadata().exif, metadata.exif);
    const auto bytes = test::read_bytes(folder / "a.webp");
    test::write_bytes(folder / "a.webp", with_chunks(bytes, [](WebPMux* mux) {
                          set_chunk(mux, "XMP ", "<x/>");
                          set_chunk(mux, "EXIF", std::string("Exif\0\0MM\0*\0\0\0\10", 14));
                      }));
    const auto others = open_image(folder / "a.webp");
    EXPECT_EQ(others->metadata().exif, test::bytes_of(std::string("MM\0*\0\0\0\10", 8))) << "without JPEG's mark";
    EXPECT_EQ(others->metadata().xmp, test::bytes_of("<x/>"));
    EXPECT_THAT(others->metadata().not_kept, IsEmpty());
    const ImageMetadata xmp_alone{.xmp = others->metadata().xmp};
    save_image({image.view(), {}, &xmp_alone}, folder / "c.webp");
    EXPECT_EQ(open_image(folder / "c.webp")->metadata().xmp, xmp_alone.xmp);
}

/// The number in four bytes, the least one first.
std::string in_four_bytes(size_t number) {
    std::string bytes;
    for (const unsigned shift : {0U, 8U, 16U, 24U}) bytes += static_cast<char>(number >> shift & 0xFFU);
    return bytes;
}

/// `file` with a chunk behind its others, of which libwebp is not told.
std::vector<char> with_chunk(std::vector<char> file, const std::string& name, const std::string& content) {
    std::string chunk = name + in_four_bytes(content.size()) + content;
    if (content.size() % 2 != 0) chunk += '\0';
    file.insert(file.end(), chunk.begin(), chunk.end());
    std::ranges::copy(in_four_bytes(file.size() - 8), file.begin() + 4);
    return file;
}

/// Some programs write such files, and other readers take them.
TEST_F(Webp, ChunksAreKeptOfWhichTheHeaderSaysNothing) {
    const Image image = make_pattern({16, 16}, 3, DType::u8);
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of("a profile of odd length");
    save_image({image.view(), {}, nullptr}, folder / "simple.webp");
    save_image({image.view(), {}, &metadata}, folder / "extended.webp");
    const std::string exif("II*\0\10\0\0\0\0", 9);
    for (const char* name : {"simple.webp", "extended.webp"}) {
        std::vector<char> bytes = test::read_bytes(folder / name);
        if (name[0] == 'e') bytes[20] = 0;  // the flags of VP8X
        bytes = with_chunk(with_chunk(bytes, "EXIF", exif), "XMP ", "<x/>");
        test::write_bytes(folder / "a.webp", bytes);
        const auto file = open_image(folder / "a.webp");
        EXPECT_EQ(file->metadata().exif, test::bytes_of(exif));
        EXPECT_EQ(file->metadata().xmp, test::bytes_of("<x/>"));
        EXPECT_EQ(file->metadata().icc_profile, name[0] == 'e' ? metadata.icc_profile : std::vector<std::byte>{});
        EXPECT_THAT(file->metadata().not_kept, IsEmpty());
        EXPECT_TRUE(same_bytes(load_image(folder / "a.webp"), image));
    }
}

TEST_F(Webp, ChunksThatAreNotKeptAreNamed) {
    save_image({make_pattern({16, 16}, 3, DType::u8).view(), {}, nullptr}, folder / "whole.webp");
    const std::vector<char> whole = test::read_bytes(folder / "whole.webp");
    const auto not_kept = [&](const std::vector<std::pair<std::string, std::string>>& chunks) {
        std::vector<char> bytes = whole;
        for (const auto& [name, content] : chunks) bytes = with_chunk(bytes, name, content);
        test::write_bytes(folder / "a.webp", bytes);
        return open_image(folder / "a.webp")->metadata().not_kept;
    };
    EXPECT_THAT(not_kept({{"ABCD", "odd"}, {"EFGH", ""}, {"ABCD", "even"}}), ElementsAre("chunk ABCD", "chunk EFGH"));
    EXPECT_THAT(not_kept({{"A\n\xFF\1", "1"}}), ElementsAre("chunk A???"));
    EXPECT_THAT(not_kept({{"EXIF", "of a camera"}}), ElementsAre("damaged EXIF"));
    EXPECT_THAT(not_kept({{"EXIF", ""}}), ElementsAre("damaged EXIF"));
    const std::string exif("II*\0\10\0\0\0", 8);
    EXPECT_THAT(
        not_kept({{"EXIF", exif}, {"EXIF", exif}, {"XMP ", "<x/>"}, {"XMP ", "<y/>"}, {"ICCP", "p"}, {"ICCP", "q"}}),
        ElementsAre("a second packet of EXIF", "a second packet of XMP", "a second colour profile"));
    const auto file = open_image(folder / "a.webp");
    EXPECT_EQ(file->metadata().xmp, test::bytes_of("<x/>"));
    EXPECT_EQ(file->metadata().icc_profile, test::bytes_of("p"));
}

TEST_F(Webp, ChunksThatReachBeyondTheEndAreRefused) {
    save_image({make_pattern({16, 16}, 3, DType::u8).view(), {}, nullptr}, folder / "a.webp");
    const std::vector<char> whole = with_chunk(test::read_bytes(folder / "a.webp"), "ABCD", "abc");
    for (const size_t cut : {0, 1, 2, 4, 5, 11}) {  // 1: only the byte that makes the length even is missing
        std::vector<char> bytes(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(cut));
        std::ranges::copy(in_four_bytes(bytes.size() - 8), bytes.begin() + 4);
        test::write_bytes(folder / "a.webp", bytes);
        if (cut < 2)
            EXPECT_THAT(open_image(folder / "a.webp")->metadata().not_kept, ElementsAre("chunk ABCD")) << cut;
        else
            EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("damaged")) << cut;
    }
}

/// Memory is taken for what the extended header states if the pixels state nothing else.
TEST_F(Webp, AHeaderWithoutPixelsIsRefusedBeforeAllocating) {
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of("a profile");
    save_image({make_pattern({16, 20}, 3, DType::u8).view(), {}, &metadata}, folder / "a.webp");
    const std::vector<char> bytes = test::read_bytes(folder / "a.webp");
    const std::string whole(bytes.begin(), bytes.end());
    const size_t pixels = whole.find("VP8L");
    const auto refusal = [&](const std::string& file) {
        std::vector<char> changed(file.begin(), file.end());
        std::ranges::copy(in_four_bytes(file.size() - 8), changed.begin() + 4);
        test::write_bytes(folder / "a.webp", changed);
        return usage_error([&] { (void)open_image(folder / "a.webp"); });
    };
    EXPECT_EQ(refusal(whole), kNotThrown);
    EXPECT_THAT(refusal(whole.substr(0, pixels)), HasSubstr("no pixels"));
    EXPECT_THAT(refusal(whole.substr(0, pixels) + "VP4L" + whole.substr(pixels + 4)), HasSubstr("no pixels"));
    for (const size_t length : {0, 1, 4}) {
        const std::string chunk = "VP8L" + in_four_bytes(length) + whole.substr(pixels + 8, length + length % 2);
        EXPECT_THAT(refusal(whole.substr(0, pixels) + chunk), HasSubstr("damaged")) << length;
    }
    std::string wider = whole;
    ++wider[24];  // the width, less one
    EXPECT_THAT(refusal(wider), HasSubstr("damaged"));
}

TEST_F(Webp, AProfileOfGrayIsLeftOutAndNamed) {
    const Image gray = make_pattern({16, 16}, 1, DType::u8);
    ImageMetadata metadata;
    metadata.icc_profile = test::bytes_of(std::string(16, ' ') + "GRAYXYZ ");
    EXPECT_THAT(lost_metadata(metadata, "b.webp", false), ElementsAre("colour profile of gray"));
    EXPECT_THAT(lost_metadata(metadata, "b.png", false), IsEmpty());
    save_image({gray.view(), {}, &metadata}, folder / "a.webp");
    EXPECT_TRUE(open_image(folder / "a.webp")->metadata().icc_profile.empty());
}

TEST_F(Webp, AnimationsAreRefusedByName) {
    const auto frame = make_lossy(make_pattern({16, 16}, 3, DType::u8));
    test::write_bytes(folder / "a.webp", with_chunks(frame, nullptr));
    EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("animation"));
}

TEST_F(Webp, DamagedFilesAreRefused) {
    const auto whole = make_lossy(make_pattern({64, 64}, 3, DType::u8));
    auto bytes = whole;
    bytes.resize(bytes.size() / 2);
    test::write_bytes(folder / "a.webp", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("truncated"));
    const auto rest = static_cast<uint32_t>(bytes.size() - 8);  // the length fits, the pixels end early
    for (size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<char>(rest >> (8 * i));
    test::write_bytes(folder / "a.webp", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("damaged"));
    const std::string exif(40, 'x');
    bytes = with_chunks(whole, [&](WebPMux* mux) { set_chunk(mux, "EXIF", exif); });
    bytes.resize(bytes.size() - exif.size() - 8);  // the pixels are whole
    test::write_bytes(folder / "a.webp", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("its header says"));
    bytes = whole;
    bytes[0] = 'r';
    test::write_bytes(folder / "a.webp", bytes);
    EXPECT_THAT(test::refusal_of(folder / "a.webp"), HasSubstr("RIFF"));
}

TEST_F(Webp, TheLongestSideIsWritten) {
    const Image image = make_pattern({2, 16383}, 3, DType::u8);
    save_image({image.view(), {}, nullptr}, folder / "a.webp");
    EXPECT_TRUE(same_bytes(load_image(folder / "a.webp"), image));
    const Image longer = make_pattern({16384, 1}, 3, DType::u8);
    EXPECT_THAT(usage_error([&] { save_image({longer.view(), {}, nullptr}, folder / "b.webp"); }), HasSubstr("16383"));
}

}  // namespace
}  // namespace pb::image
