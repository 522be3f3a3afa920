// The crop of a file: which of its samples an image source reads.
#include "run/pixels/image_source.hpp"

#include "base/atomic_file.hpp"
#include "image/stack_fixture.hpp"
#include "run/pixels/file_samples.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>

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

    [[nodiscard]] config::ImageSettings settings() const {
        return {.path = file_.string(), .raw = "9x15x1:u8", .crop_height = 4, .crop_width = 6, .noise_sigma = 0};
    }

  private:
    const test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_ / "a.raw";
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

TEST_F(CroppedFile, HasTheGapsOfItsPart) {
    config::ImageSettings image = settings();
    image.nodata = "54";  // row 3, column 6 of the file: row 1, column 2 of the crop
    ImageSource source(image);
    EXPECT_EQ(source.count_gaps({1, 2, {1, 1}}), 1);
    EXPECT_EQ(source.count_gaps({0, 0, {1, 6}}), 0);
}

TEST_F(CroppedFile, IsCleanAsTheFileThatIsNamedForThat) {
    config::ImageSettings image = settings();
    image.clean = image.path + ".clean";
    std::string samples(9 * 15, '2');
    samples[3 * 15 + 6] = '3';  // row 1, column 2 of the crop
    write_whole(image.clean, samples);
    ImageSource source(image);
    EXPECT_FLOAT_EQ(source.read_clean({1, 2, {1, 1}}).as<float>()[0], '3' / 255.0F);
}

TEST_F(CroppedFile, HasTheStepOfItsSamples) {
    config::ImageSettings image = settings();
    EXPECT_EQ(ImageSource(image).sample_step(), 1.0 / 255);
    image.range = "10:50";
    EXPECT_EQ(ImageSource(image).sample_step(), 1.0 / 40);
    image.noise_sigma = 0.1;
    EXPECT_EQ(ImageSource(image).sample_step(), 0);
    image = {.path = settings().path, .raw = "1x33x1:f32"};
    write_whole(image.path, std::string(33 * sizeof(float), '\0'));
    EXPECT_EQ(ImageSource(image).sample_step(), 0);
}

TEST_F(CroppedFile, ThatIsWrittenToIsNotReadAsOne) {
    const ImageSource source(settings());
    EXPECT_NO_THROW(source.require_unchanged());
    const std::filesystem::path file = settings().path;
    write_whole(file, std::string(kRows * kColumns, 'x'));  // of that name: the open one is read on
    EXPECT_NO_THROW(source.require_unchanged());
    const ImageSource other(settings());
    std::fstream(file, std::ios::in | std::ios::out) << "written over";
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
    EXPECT_THROW(other.require_unchanged(), Error);
    EXPECT_NO_THROW(ImageSource({.height = 8, .width = 8}).require_unchanged()) << "a scene";
}

/// A source for each page, or for each group of bands, of files that were opened once.
TEST_F(CroppedFile, IsOneVersionForAllSources) {
    config::ImageSettings image = settings();
    image.clean = image.path + ".clean";
    std::filesystem::copy_file(image.path, image.clean);
    const OpenFiles files = open_files(image);
    const auto touch = [](const std::filesystem::path& file) {
        std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
    };
    EXPECT_NO_THROW(ImageSource(image, files).require_unchanged());
    EXPECT_NO_THROW(files.require_unchanged());
    touch(image.clean);
    EXPECT_THROW(ImageSource(image, files).require_unchanged(), Error);
    EXPECT_THROW(files.require_unchanged(), Error);
    EXPECT_NO_THROW(ImageSource(image).require_unchanged()) << "opened again";
    std::filesystem::remove(image.clean);
    EXPECT_NO_THROW(files.require_unchanged());
    touch(image.path);
    EXPECT_THROW(ImageSource(image, files).require_unchanged(), Error);
}

/// Raw samples that are written for a test.
class RawFile : public testing::Test {
  protected:
    config::ImageSettings write(const std::string& shape, const std::string& samples) {
        write_whole(file_, samples);
        return {.path = file_.string(), .raw = shape, .noise_sigma = 0};
    }

  private:
    const test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_ / "a.raw";
};

TEST_F(RawFile, OfTwoChannelsIsGrayWithAlpha) {
    ImageSource source(write("3x4x2:u8", std::string(24, 'x')));
    EXPECT_EQ(source.channels(), 1);
    EXPECT_TRUE(source.stored_info().has_alpha);
}

TEST_F(RawFile, HasNoAlphaForACrop) {
    config::ImageSettings settings = write("3x4x4:u8", std::string(48, 'x'));
    settings.crop_width = 2;
    EXPECT_FALSE(ImageSource(settings).stored_info().has_alpha) << "that of the file is larger";
}

TEST_F(RawFile, HasNoAlphaForSomeOfItsBands) {
    config::ImageSettings settings = write("3x4x4:u8", std::string(48, 'x'));
    settings.bands = "1-3";
    const ImageSource source(settings);
    EXPECT_EQ(source.channels(), 3);
    EXPECT_FALSE(source.stored_info().has_alpha) << "it would be written, too";
}

TEST_F(RawFile, IsRefusedForANanInAlphaThatIsABand) {
    constexpr float kSamples[] = {0.5F, 1.0F, 0.25F, std::numeric_limits<float>::quiet_NaN()};
    config::ImageSettings settings = write("1x2x2:f32", {reinterpret_cast<const char*>(kSamples), sizeof kSamples});
    const auto read = [&](const char* bands) {
        settings.bands = bands;
        FileSamples file(settings, open_file(settings));
        image::Image stored({1, 2}, 1, DType::f32);
        file.read_stored({0, 0, {1, 2}}, stored.view());
    };
    EXPECT_NO_THROW(read("1"));
    EXPECT_NO_THROW(read("")) << "alpha is kept as it is";
    EXPECT_THAT(usage_error([&] { read("2"); }), testing::HasSubstr("row 0, column 1, channel 1"));
}

TEST_F(RawFile, HasNoPagesBesideTheFirst) {
    const config::ImageSettings settings = write("3x4x1:u8", std::string(12, 'x'));
    EXPECT_EQ(open_pages(settings, std::vector<int64_t>{0}).image->num_pages(), 1);
    for (const auto& pages : {std::vector<int64_t>{1}, std::vector<int64_t>{0, 1}})
        EXPECT_THROW((void)open_pages(settings, pages), UsageError);
}

TEST_F(RawFile, IsRefusedForABandBehindItsLast) {
    config::ImageSettings settings = write("3x4x5:u8", std::string(60, 'x'));
    settings.bands = "3-5";
    EXPECT_EQ(ImageSource(settings).channels(), 3);
    settings.bands = "4-6";
    EXPECT_THROW(ImageSource{settings}, UsageError);
}

TEST_F(RawFile, OfIntegersHasNoSampleThatIsNotANumber) {
    config::ImageSettings settings = write("3x4x1:u8", std::string(12, 'x'));
    settings.nodata = "nan";
    EXPECT_EQ(ImageSource(settings).map(), nullptr) << "no gaps";
    settings.nodata = "256";
    EXPECT_THROW(ImageSource{settings}, UsageError);
    EXPECT_THROW((void)source_facts(settings), UsageError) << "before anything of a study is measured";
}

TEST_F(RawFile, GivesARangeFromItsFirstRowToItsLast) {
    std::string samples;
    for (int row = 0; row < 600; ++row) samples += std::string(600, static_cast<char>(row < 300 ? 100 : 100 + row / 6));
    config::ImageSettings settings = write("600x600x1:u8", samples);
    settings.range = "auto";
    const ImageSource source(settings);
    EXPECT_EQ(source.map()->range(), (image::SampleRange{100, 199}));
}

TEST_F(RawFile, GivesARangeFromItsFirstColumnToItsLast) {
    std::string row(600, static_cast<char>(100)), samples;
    for (int column = 600; column < 1200; ++column) row += static_cast<char>(100 + column / 12);
    for (int y = 0; y < 600; ++y) samples += row;
    config::ImageSettings settings = write("600x1200x1:u8", samples);
    settings.range = "auto";
    const ImageSource source(settings);
    EXPECT_EQ(source.map()->range(), (image::SampleRange{100, 199}));
}

TEST_F(RawFile, GivesAPartOfItsBandsWhateverItsHeight) {
    constexpr int64_t kHeight = 200, kWidth = 3;
    std::string samples;
    for (int64_t row = 0; row < kHeight; ++row) samples += std::string(5 * kWidth, static_cast<char>(row));
    config::ImageSettings settings = write("200x3x5:u8", samples);
    settings.bands = "2-4";
    FileSamples file(settings, open_file(settings));
    image::Image stored({kHeight - 1, kWidth}, 3, DType::u8), unit(stored.extent(), 3, DType::f32);
    file.read_stored({1, 0, stored.extent()}, stored.view());
    file.read_unit({1, 0, unit.extent()}, unit.view());
    for (int64_t i = 0; i < stored.num_samples(); ++i) {
        ASSERT_EQ(stored.as<uint8_t>()[i], 1 + i / (3 * kWidth)) << "sample " << i;
        ASSERT_FLOAT_EQ(unit.as<float>()[i], stored.as<uint8_t>()[i] / 255.0F) << "sample " << i;
    }
}

TEST_F(RawFile, FillsAGapByTheSameValuesInEveryPart) {
    constexpr int64_t kHeight = 20, kWidth = 12;
    std::string samples;
    for (int64_t i = 0; i < kHeight * kWidth; ++i) samples += static_cast<char>(i % 7 == 0 ? 0 : 1 + i * 37 % 250);
    config::ImageSettings settings = write("20x12x1:u8", samples);
    settings.nodata = "0";
    FileSamples file(settings, open_file(settings));
    image::Image whole({kHeight, kWidth}, 1, DType::f32), pixel({1, 1}, 1, DType::f32);
    file.read_unit({0, 0, whole.extent()}, whole.view());
    for (int64_t i = 0; i < whole.num_samples(); ++i) {
        file.read_unit({i / kWidth, i % kWidth, pixel.extent()}, pixel.view());
        EXPECT_EQ(pixel.as<float>()[0], whole.as<float>()[i]) << "pixel " << i;
    }
}

TEST_F(RawFile, GetsNoNoiseInItsGapsAndElsewhereEverywhere) {
    constexpr int64_t kHeight = 3, kWidth = 12;
    std::string samples;
    for (int64_t i = 0; i < kHeight * kWidth; ++i) samples += static_cast<char>(i % 5 == 0 ? 0 : 100 + i % 50);
    config::ImageSettings settings = write("3x12x1:u8", samples);
    settings.nodata = "0";
    settings.noise_sigma = 0.1;
    ImageSource source(settings);
    const Rect whole{0, 0, {kHeight, kWidth}};
    const image::Image clean = source.read_unit(whole), noisy = source.read_noisy(whole);
    for (int64_t i = 0; i < clean.num_samples(); ++i)
        EXPECT_EQ(noisy.as<float>()[i] == clean.as<float>()[i], i % 5 == 0) << "pixel " << i;
}

TEST(ArrayFile, KeepsTheAxisOfItsOnlyChannel) {
    const test::TemporaryFolder folder;
    const image::Image gray({3, 4}, 1, DType::u8);
    for (const bool has_axis : {false, true}) {
        image::save_image({.pixels = gray.view(), .alpha = {}, .has_channel_axis = has_axis}, folder / "a.npy");
        const config::ImageSettings settings{.path = folder / "a.npy", .noise_sigma = 0};
        EXPECT_EQ(ImageSource(settings).stored_info().has_channel_axis, has_axis);
    }
}

TEST(Pages, AreThinnedSoThatEveryChannelCountsForTheRange) {
    const test::TemporaryFolder folder;
    image::Image colour({4, 4}, 3, DType::u8);
    for (int64_t i = 0; i < colour.num_samples(); ++i)
        colour.as<uint8_t>()[i] = static_cast<uint8_t>(50 + 60 * (i % 3));
    std::vector<test::FixturePage> pages;
    for (int page = 0; page < 150; ++page) pages.push_back({colour, 0, ""});  // one value of three would be kept
    test::write_pages(folder / "a.tif", pages);
    const config::ImageSettings settings{.path = folder / "a.tif", .range = "auto"};
    EXPECT_EQ(range_of_pages(settings, open_pages(settings, {}).image), (image::SampleRange{50, 170}));
}

}  // namespace
}  // namespace pb::run
