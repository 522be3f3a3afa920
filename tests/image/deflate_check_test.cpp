// Deflate blocks of a TIFF whose damage libtiff does not see.
#include "support/messages.hpp"
#include "tiff_fixture.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <vector>

namespace pb::image {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Extent kStripExtent{20, 30};

/// The image in one strip, which holds `extra` more bytes than it needs.
std::vector<Bytef> deflated(const Image& image, size_t extra) {
    std::vector<Bytef> samples(image.bytes().size() + extra, 9);
    std::memcpy(samples.data(), image.bytes().data(), image.bytes().size());
    uLongf size = compressBound(samples.size());
    std::vector<Bytef> strip(size);
    EXPECT_EQ(compress2(strip.data(), &size, samples.data(), samples.size(), 6), Z_OK);
    strip.resize(size);
    return strip;
}

void write_strip(const std::filesystem::path& path, const Image& image, int predictor, std::vector<Bytef> strip) {
    TIFF* tiff = TIFFOpen(path.c_str(), "w");
    ASSERT_NE(tiff, nullptr);
    const test::TiffKind kind{
        .compression = COMPRESSION_ADOBE_DEFLATE, .predictor = predictor, .strip_rows = kStripExtent.h};
    test::set_tiff_tags(tiff, image, false, kind);
    ASSERT_GT(TIFFWriteRawStrip(tiff, 0, strip.data(), static_cast<tmsize_t>(strip.size())), 0);
    TIFFClose(tiff);
}

TEST(DeflateCheck, LongAndUnfinishedBlocksAreReadAndDamagedOnesAreNot) {
    const test::TemporaryFolder folder;
    const Image image = test::make_pattern(kStripExtent, 1, DType::u16);
    for (const int predictor : {PREDICTOR_NONE, PREDICTOR_HORIZONTAL})
        for (const size_t extra : {0, 500}) {
            std::vector<Bytef> strip = deflated(image, extra);
            write_strip(folder / "a.tif", image, predictor, strip);
            const Image read = load_image(folder / "a.tif");
            EXPECT_EQ(test::same_bytes(read, image), predictor == PREDICTOR_NONE);
            strip.back() ^= 1U;  // of the checksum
            write_strip(folder / "damaged.tif", image, predictor, strip);
            EXPECT_THAT(usage_error([&] { (void)load_image(folder / "damaged.tif"); }),
                        AllOf(HasSubstr("damaged"), HasSubstr("strip 0")))
                << predictor << " " << extra;
        }
    std::vector<Bytef> unfinished = deflated(image, 500);
    unfinished.resize(unfinished.size() - 3);
    write_strip(folder / "unfinished.tif", image, PREDICTOR_NONE, unfinished);
    EXPECT_TRUE(test::same_bytes(load_image(folder / "unfinished.tif"), image));
}

}  // namespace
}  // namespace pb::image
