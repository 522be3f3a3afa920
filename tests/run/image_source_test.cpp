// The crop of a file: which of its samples an image source reads.
#include "run/pixels/image_source.hpp"

#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace pb::run {
namespace {

constexpr int64_t kRows = 9, kColumns = 15;

/// Gray samples of 16 row + column, as raw bytes.
class CroppedFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string samples;
        for (int64_t row = 0; row < kRows; ++row)
            for (int64_t column = 0; column < kColumns; ++column) samples += static_cast<char>(16 * row + column);
        write_whole(file_, samples);
    }
    void TearDown() override { std::filesystem::remove(file_); }

    [[nodiscard]] config::ImageSettings settings() const {
        return {.path = file_.string(), .raw = "9x15x1:u8", .crop_height = 4, .crop_width = 6, .noise_sigma = 0};
    }

  private:
    std::filesystem::path file_ =
        std::filesystem::temp_directory_path() / ("patchbench-source-" + std::to_string(::getpid()) + ".raw");
};

TEST_F(CroppedFile, IsItsCentreInBothDirections) {
    ImageSource source(settings());
    EXPECT_EQ(source.extent(), (Extent{4, 6}));
    const Rect part{1, 2, {3, 4}};
    image::Image stored(part.extent, 1, DType::u8);
    source.read(part, stored.view());
    const image::Image unit = source.read_clean(part);
    for (int64_t row = 0; row < part.extent.h; ++row)
        for (int64_t column = 0; column < part.extent.w; ++column) {
            const auto there = static_cast<uint8_t>(16 * (2 + 1 + row) + 4 + 2 + column);  // the crop begins at 2, 4
            EXPECT_EQ(std::to_integer<uint8_t>(stored.view().row(row)[column]), there);
            EXPECT_FLOAT_EQ(reinterpret_cast<const float*>(unit.view().row(row))[column], there / 255.0F);
        }
}

}  // namespace
}  // namespace pb::run
