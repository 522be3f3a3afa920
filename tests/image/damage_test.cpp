// Whatever is done to a file, reading it gives pixels or an Error, never a crash, a hang or an absurd allocation.
#include "stack_fixture.hpp"

#include <functional>
#include <random>

namespace pb::image {
namespace {

using test::make_pattern;
using test::TemporaryFolder;
using test::write_tiff_fixture;

/// True when the file was read; false when an Error said why not.
bool read_everything(const std::filesystem::path& path) {
    try {
        const auto file = open_stack(path, {});
        Image image(file->info().extent, file->info().channels, file->info().dtype);
        for (int64_t page = 0; page < file->num_pages(); ++page) {
            file->turn_to(page);
            file->read({0, 0, file->info().extent}, image.view());
            (void)file->read_alpha();
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

class Damage : public testing::TestWithParam<std::string> {
  protected:
    /// A small file of each kind, with alpha where the format has it.
    void SetUp() override {
        const Image image = make_pattern({37, 29}, 3, DType::u8);
        const Image alpha = make_pattern({37, 29}, 1, DType::u8);
        ImageMetadata metadata;
        metadata.exif = test::bytes_of(std::string("II*\0\10\0\0\0\0\0\0\0\0\0", 14));
        metadata.x_resolution_per_m = metadata.y_resolution_per_m = 1000;
        const std::string kind = GetParam();
        path_ = folder_ / kind.substr(kind.find('.') == 0 ? 0 : kind.find('-') + 1);
        if (kind == "lzw-a.tif")
            write_tiff_fixture(path_, make_pattern({37, 29}, 4, DType::u16), true, {"w", COMPRESSION_LZW, 2, true, 16});
        else if (kind == "deflate-a.tif")
            write_tiff_fixture(path_, image, false, {"w8", COMPRESSION_ADOBE_DEFLATE});
        else if (kind == "packbits-a.tif")
            write_tiff_fixture(path_, image, false, {"wb", COMPRESSION_PACKBITS});
        else if (kind == "stack-a.tif")
            test::write_planes(path_, test::kOme, {.compression = COMPRESSION_LZW});
        else if (kind == "jpeg-a.tif")
            write_tiff_fixture(path_, image, false, {"w", COMPRESSION_JPEG, 0, false, 16, 16, PHOTOMETRIC_YCBCR});
        else
            save_image({image.view(), kind == "raw-a.jpg" ? PixelView{} : alpha.view(), &metadata}, path_);
        bytes_ = test::read_bytes(path_);
    }

    TemporaryFolder folder_;
    std::filesystem::path path_;
    std::vector<char> bytes_;
};

TEST_P(Damage, TheFileItselfIsRead) { EXPECT_TRUE(read_everything(path_)); }

TEST_P(Damage, TruncatedFilesAreRefused) {
    // The last bytes of a TIFF may belong to nothing that is read.
    const size_t step = std::max<size_t>(1, bytes_.size() / 150);
    for (size_t length = 0; length + 16 < bytes_.size(); length += step) {
        test::write_bytes(path_, {bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length)});
        ASSERT_FALSE(read_everything(path_)) << length << " of " << bytes_.size() << " bytes";
    }
}

TEST_P(Damage, FlippedBytesNeverCrash) {
    std::mt19937 random(1);
    int refused = 0;
    for (int trial = 0; trial < 600; ++trial) {
        std::vector<char> damaged = bytes_;
        // Half of the damage goes to the first or last bytes, where the headers are.
        const size_t span = trial % 2 == 0 ? damaged.size() : std::min<size_t>(damaged.size(), 300);
        for (uint32_t count = 1 + random() % 4; count > 0; --count) {
            const size_t place = random() % span;
            const size_t at = trial % 4 == 3 ? damaged.size() - 1 - place : place;
            damaged[at] = static_cast<char>(random());
        }
        test::write_bytes(path_, damaged);
        refused += read_everything(path_) ? 0 : 1;
    }
    EXPECT_GT(refused, 0);
}

TEST_P(Damage, NoDescriptorIsLeftOpen) {
    const auto open_descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto before = open_descriptors();
    EXPECT_TRUE(read_everything(path_));
    for (size_t length = 1; length < bytes_.size(); length += bytes_.size() / 7) {
        test::write_bytes(path_, {bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length)});
        (void)read_everything(path_);
    }
    EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Formats, Damage,
                         testing::Values("raw-a.png", "raw-a.jpg", "raw-a.webp", "raw-a.bmp", "raw-a.tif", "raw-a.npy",
                                         "lzw-a.tif", "deflate-a.tif", "packbits-a.tif", "stack-a.tif", "jpeg-a.tif"));

}  // namespace
}  // namespace pb::image
