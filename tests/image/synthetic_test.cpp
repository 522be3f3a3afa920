#include "image/synthetic.hpp"

#include "base/sha256.hpp"
#include "image/quality.hpp"
#include "image_support.hpp"

#include <cmath>
#include <functional>
#include <set>

namespace pb::image {
namespace {

using test::crop;
using test::same_bytes;
using Fill = std::function<void(int64_t row, int64_t column, MutablePixelView)>;

/// Any cut into rectangles gives the bytes of the whole.
void expect_windowing_independent(const Fill& fill, int64_t channels) {
    constexpr int64_t kRow = 1000;
    constexpr int64_t kColumn = 70001;
    Image whole({300, 421}, channels, DType::f32);
    fill(kRow, kColumn, whole.view());
    const std::vector<int64_t> rows{0, 1, 2, 64, 129, 257, 300};
    const std::vector<int64_t> columns{0, 1, 3, 50, 128, 300, 421};
    for (size_t i = 0; i + 1 < rows.size(); ++i)
        for (size_t j = 0; j + 1 < columns.size(); ++j) {
            const Rect part{rows[i], columns[j], {rows[i + 1] - rows[i], columns[j + 1] - columns[j]}};
            Image image(part.extent, channels, DType::f32);
            fill(kRow + part.row, kColumn + part.column, image.view());
            ASSERT_TRUE(same_bytes(image, crop(whole, part))) << part.row << ", " << part.column;
        }
}

TEST(Scene, DoesNotDependOnTheWindow) {
    for (const int64_t channels : {1, 3})
        expect_windowing_independent(
            [](int64_t row, int64_t column, MutablePixelView to) { fill_scene(5, row, column, to); }, channels);
}

TEST(Noise, DoesNotDependOnTheWindow) {
    for (const int64_t channels : {1, 3})
        expect_windowing_independent(
            [](int64_t row, int64_t column, MutablePixelView to) { add_noise(0.1, 5, row, column, to); }, channels);
}

TEST(Scene, GrayIsTheFirstChannelOfColour) {
    Image gray({64, 64}, 1, DType::f32);
    Image colour({64, 64}, 3, DType::f32);
    fill_scene(3, 10, 20, gray.view());
    fill_scene(3, 10, 20, colour.view());
    for (int64_t i = 0; i < 64 * 64; ++i) EXPECT_EQ(gray.as<float>()[i], colour.as<float>()[3 * i]);
}

TEST(Scene, LiesInTheUnitRangeAndVaries) {
    Image image({512, 512}, 3, DType::f32);
    fill_scene(1, 0, 0, image.view());
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < 512 * 512 * 3; ++i) {
        const double v = image.as<float>()[i];
        ASSERT_TRUE(v >= 0 && v <= 1);
        sum += v;
        squares += v * v;
    }
    const double mean = sum / (512 * 512 * 3);
    EXPECT_NEAR(mean, 0.5, 0.15);
    EXPECT_GT(std::sqrt(squares / (512 * 512 * 3) - mean * mean), 0.1);
}

TEST(Scene, SeedsAndPlacesDiffer) {
    std::set<std::vector<std::byte>> seen;
    for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 40U})
        for (const int64_t place : {int64_t{0}, int64_t{1000000}, int64_t{3000000000}}) {
            Image image({32, 32}, 1, DType::f32);
            fill_scene(seed, place, 0, image.view());
            seen.insert({image.bytes().begin(), image.bytes().end()});
        }
    EXPECT_EQ(seen.size(), 9);
}

/// First samples, fixed when they were first computed: the same bits on every machine and in every version.
TEST(Synthetic, KeepsItsBits) {
    Image scene({1, 1}, 3, DType::f32);
    fill_scene(42, 100, 200, scene.view());
    Image noise({1, 2}, 3, DType::f32);
    add_noise(1.0, 42, 100, 200, noise.view());
    const auto bits = [](const Image& image, int64_t i) { return image.as<uint32_t>()[i]; };
    EXPECT_EQ(bits(scene, 0), 1062506027U);
    EXPECT_EQ(bits(scene, 2), 1060493537U);
    EXPECT_EQ(bits(noise, 0), 1067556957U);
    EXPECT_EQ(bits(noise, 5), 1020958200U);
    Image corner({150, 150}, 3, DType::f32);
    fill_scene(42, 0, 0, corner.view());
    EXPECT_EQ(sha256_of(corner.bytes()), "c558e3de21be478c970fbe78dfd81af2d581ed032c22e2661e67f8bbbdc4bb61");
}

TEST(Noise, IsStandardNormal) {
    Image image({1000, 1000}, 3, DType::f32);
    add_noise(1.0, 9, 0, 0, image.view());
    constexpr double kCount = 3e6;
    double moments[5] = {};
    for (int64_t i = 0; i < 3000000; ++i)
        for (int power = 1; power <= 4; ++power) moments[power] += std::pow(image.as<float>()[i], power) / kCount;
    // Five standard errors each.
    EXPECT_NEAR(moments[1], 0, 5 / std::sqrt(kCount));
    EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2 / kCount));
    EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15 / kCount));
    EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96 / kCount));
}

TEST(Noise, FollowsTheNormalDistribution) {
    Image image({500, 500}, 1, DType::f32);
    add_noise(1.0, 10, 0, 0, image.view());
    std::vector<float> values(image.as<float>(), image.as<float>() + 250000);
    std::sort(values.begin(), values.end());
    double distance = 0;  // Kolmogorov-Smirnov
    for (size_t i = 0; i < values.size(); ++i) {
        const double expected = 0.5 * std::erfc(-static_cast<double>(values[i]) / std::sqrt(2.0));
        distance = std::max(distance, std::abs(expected - static_cast<double>(i) / 250000));
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(250000.0));  // 0.1 % level
}

TEST(Noise, NeighboursAndChannelsAreUncorrelated) {
    Image image({400, 400}, 3, DType::f32);
    add_noise(1.0, 11, 0, 0, image.view());
    const float* v = image.as<float>();
    for (const int64_t shift : {1, 2, 3, 6, 9, 12, 1200, 1203}) {
        double sum = 0;
        const int64_t count = 400 * 400 * 3 - shift;
        for (int64_t i = 0; i < count; ++i) sum += v[i] * v[i + shift];
        EXPECT_NEAR(sum / static_cast<double>(count), 0, 5 / std::sqrt(static_cast<double>(count))) << shift;
    }
}

TEST(Noise, IsAddedAndNotClipped) {
    Image image({100, 100}, 1, DType::f32);
    std::fill_n(image.as<float>(), 10000, 1.0F);
    add_noise(0.5, 1, 0, 0, image.view());
    EXPECT_GT(*std::max_element(image.as<float>(), image.as<float>() + 10000), 1.5F);
}

}  // namespace
}  // namespace pb::image
