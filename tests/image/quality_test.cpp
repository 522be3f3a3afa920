#include "image/quality.hpp"

#include "image/synthetic.hpp"
#include "image_support.hpp"
#include "support/psnr.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pb::image {
namespace {

using test::psnr;

struct Pair {
    Image image;
    Image reference;
};

/// Images that a few lines of Python make as well (see the figures below).
Pair make_pair(int64_t channels) {
    Pair pair{Image({90, 70}, channels, DType::f32), Image({90, 70}, channels, DType::f32)};
    int64_t i = 0;
    for (int64_t y = 0; y < 90; ++y)
        for (int64_t x = 0; x < 70; ++x)
            for (int64_t c = 0; c < channels; ++c, ++i) {
                const int64_t k = (y * 7 + x * 13 + c * 29) % 101;
                pair.image.as<float>()[i] = static_cast<float>(k) / 100.0F;
                pair.reference.as<float>()[i] = static_cast<float>(k + y * x % 17 - 8) / 100.0F;
            }
    return pair;
}

Image image_of(const std::array<float, 6>& samples) {
    Image image({2, 3}, 1, DType::f32);
    std::ranges::copy(samples, image.as<float>());
    return image;
}

TEST(Quality, SamplesFarOutsideInBothImagesAreCounted) {
    const Image image = image_of({-1, 2, -1.001F, 2.001F, 0.5F, 7}), other = image_of({9, 9, 9, 9, 9, 0});
    EXPECT_EQ(count_far_outside(image.view(), image.view()), 3);
    EXPECT_EQ(count_far_outside(image.view(), other.view()), 2);
    EXPECT_EQ(count_far_outside(other.view(), image.view()), 2);
    const Rect left{0, 0, {2, 2}};
    EXPECT_EQ(count_far_outside(image.view().part(left), image.view().part(left)), 1) << "row by row";
}

// Figures of scikit-image 0.26: peak_signal_noise_ratio(data_range=1), structural_similarity(data_range=1,
// gaussian_weights=True, sigma=1.5, use_sample_covariance=False) of the clipped images.
TEST(Quality, AgreesWithScikitImage) {
    const Pair colour = make_pair(3);
    const Pair gray = make_pair(1);
    EXPECT_NEAR(psnr(colour.image.view(), colour.reference.view()), 25.859237376407734, 1e-6);
    EXPECT_NEAR(psnr(gray.image.view(), gray.reference.view()), 25.86133681997413, 1e-6);
    EXPECT_NEAR(ssim(colour.image.view(), colour.reference.view()), 0.9824455774943287, 1e-7);
    EXPECT_NEAR(ssim(gray.image.view(), gray.reference.view()), 0.9824755042003039, 1e-7);
}

TEST(Quality, EqualImagesAreAsGoodAsItGets) {
    const Pair pair = make_pair(3);
    EXPECT_TRUE(std::isinf(psnr(pair.image.view(), pair.image.view())));
    EXPECT_DOUBLE_EQ(ssim(pair.image.view(), pair.image.view()), 1);
    EXPECT_EQ(max_abs_difference(pair.image.view(), pair.image.view()), 0);
}

TEST(Quality, ValuesAreClippedFirst) {
    Image a({20, 20}, 1, DType::f32);
    Image b({20, 20}, 1, DType::f32);
    std::fill_n(a.as<float>(), 400, 1.0F);
    std::fill_n(b.as<float>(), 400, 7.0F);
    EXPECT_TRUE(std::isinf(psnr(a.view(), b.view())));
    EXPECT_DOUBLE_EQ(ssim(a.view(), b.view()), 1);
    EXPECT_EQ(max_abs_difference(a.view(), b.view()), 6);
}

TEST(Quality, NanIsSeen) {
    Pair pair = make_pair(1);
    pair.image.as<float>()[4000] = std::nanf("");
    EXPECT_TRUE(std::isnan(max_abs_difference(pair.image.view(), pair.reference.view())));
    EXPECT_TRUE(std::isnan(psnr(pair.image.view(), pair.reference.view())));
}

TEST(Quality, UnequalExtentsAreRefused) {
    const Pair pair = make_pair(1);
    const Image other({90, 71}, 1, DType::f32);
    EXPECT_THROW((void)psnr(pair.image.view(), other.view()), Error);
    EXPECT_THROW((void)ssim(other.view(), pair.image.view()), Error);
    const Image small({10, 40}, 1, DType::f32);
    EXPECT_THROW((void)ssim(small.view(), small.view()), Error);
}

Image noisy_scene(double sigma, uint64_t seed, int64_t channels) {
    Image image({500, 600}, channels, DType::f32);
    fill_scene(seed, 0, 0, image.view());
    add_noise(sigma, seed + 1, 0, 0, image.view());
    return image;
}

TEST(NoiseLevel, IsFoundOnScenes) {
    for (const double sigma : {0.02, 0.05, 0.1, 0.2})
        for (const uint64_t seed : {1U, 2U, 3U}) {
            EXPECT_NEAR(estimate_noise(noisy_scene(sigma, seed, 3).view()), sigma, 0.1 * sigma);
            EXPECT_NEAR(estimate_noise(noisy_scene(sigma, seed, 1).view()), sigma, 0.1 * sigma);
        }
}

TEST(NoiseLevel, IsFoundInFilesOfEightBitsClipped) {
    for (const double sigma : {0.02, 0.05, 0.1, 0.2}) {
        const Image noisy = noisy_scene(sigma, 4, 3);
        Image integers(noisy.extent(), 3, DType::u8);
        from_float(noisy.view(), integers.view());
        Image clipped(noisy.extent(), 3, DType::f32);
        to_float(integers.view(), clipped.view());
        EXPECT_NEAR(estimate_noise(clipped.view()), sigma, 0.15 * sigma);
        EXPECT_EQ(estimate_noise(clipped.view()), estimate_noise(integers.view()));
    }
}

TEST(NoiseLevel, BlackBordersAndSaturatedAreasAreLeftOut) {
    Image image = noisy_scene(0.1, 5, 1);
    for (int64_t y = 0; y < 500; ++y)
        for (int64_t x = 0; x < 400; ++x) image.as<float>()[y * 600 + x] = y < 250 ? 0.0F : 1.0F;
    EXPECT_NEAR(estimate_noise(image.view()), 0.1, 0.01);
}

TEST(NoiseLevel, NoiseThatIsCutOffAtEitherEndIsLeftOut) {
    for (const float base : {0.0F, 1.0F}) {
        Image image({256, 256}, 1, DType::f32);
        for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] = i % 256 < 64 ? 0.5F : base;
        add_noise(0.1, 3, 0, 0, image.view());
        for (int64_t i = 0; i < image.num_samples(); ++i)
            image.as<float>()[i] = std::clamp(image.as<float>()[i], 0.0F, 1.0F);
        EXPECT_NEAR(estimate_noise(image.view()), 0.1, 0.01) << base;
    }
}

/// One region of 16 x 16 pixels, or two beside each other, with noise. `black`: samples of the first that are clipped.
Image noisy_regions(int64_t width, int64_t black) {
    Image image({16, width}, 1, DType::f32);
    std::fill_n(image.as<float>(), image.num_samples(), 0.5F);
    add_noise(0.02, 1, 0, 0, image.view());
    for (int64_t i = 0; i < black; ++i) image.as<float>()[i / 16 * width + i % 16] = 0;
    return image;
}

TEST(NoiseLevel, IsNotFoundWhereMoreThanAFifthIsClipped) {
    EXPECT_GT(estimate_noise(noisy_regions(16, 51).view()), 0);
    EXPECT_THROW((void)estimate_noise(noisy_regions(16, 52).view()), UsageError);
}

TEST(NoiseLevel, IsFoundWhereLessThanATwentiethIsClippedIfThereIsAny) {
    Image clear = noisy_regions(32, 0), clipped = noisy_regions(32, 13);
    const double level = estimate_noise(clear.view().part({0, 16, {16, 16}}));
    EXPECT_EQ(estimate_noise(clipped.view()), level);
}

/// 24 blocks of 2 x 2 pixels differ by one step of 8 bits, 40 by two. Half of the 64 are below 1.5 + 8 / 40 half steps.
TEST(NoiseLevel, OfEightBitsIsTheMedianOfGroupedValues) {
    Image image({16, 16}, 1, DType::u8);
    for (int64_t i = 0; i < 256; ++i) {
        const int64_t y = i / 16, x = i % 16, block = y / 2 * 8 + x / 2;
        const bool first = y % 2 == 0 && x % 2 == 0;
        image.as<uint8_t>()[i] = static_cast<uint8_t>(100 + (first ? block < 24 ? 1 : 2 : 0));
    }
    EXPECT_NEAR(estimate_noise(image.view()), 1.7 / 510 / 0.6745, 1e-7);
}

TEST(NoiseLevel, OfARowOfPixelsIsUnknown) {
    for (const Extent extent : {Extent{1, 32}, Extent{32, 1}})
        EXPECT_THROW((void)estimate_noise(test::make_pattern(extent, 1, DType::u8).view()), Error);
}

TEST(NoiseLevel, IsThatOfWholeBlocksOfTwoByTwoPixels) {
    Image image({20, 40}, 1, DType::f32);
    std::fill_n(image.as<float>(), image.num_samples(), 0.5F);
    add_noise(0.02, 1, 0, 0, image.view());
    for (int64_t i = 0; i < image.num_samples(); ++i)
        if (i / 40 >= 16 || i % 40 >= 32) image.as<float>()[i] = i * i % 11 < 5 ? 0.25F : 0.75F;
    EXPECT_EQ(estimate_noise(image.view().part({0, 0, {17, 33}})), estimate_noise(image.view().part({0, 0, {16, 32}})));
}

TEST(NoiseLevel, IsFoundBesideFlatAreas) {
    Image image = noisy_regions(96, 0);
    const double level = estimate_noise(image.view().part({0, 64, {16, 32}}));
    for (int64_t i = 0; i < image.num_samples(); ++i)
        if (i % 96 < 64) image.as<float>()[i] = 0.5F;
    EXPECT_EQ(estimate_noise(image.view()), level);
}

TEST(NoiseLevel, IsThatOfMostChannels) {
    Image image = noisy_scene(0.1, 5, 3);
    for (int64_t i = 0; i < image.num_samples(); i += 3) image.as<float>()[i] = 0.5F;
    EXPECT_NEAR(estimate_noise(image.view()), 0.1, 0.01);
}

TEST(NoiseLevel, CannotBeFoundWhereAllIsClipped) {
    Image image({64, 64}, 1, DType::f32);
    add_noise(0.1, 1, 0, 0, image.view());  // of black: half of the samples are below zero
    Image integers({64, 64}, 1, DType::u8);
    from_float(image.view(), integers.view());
    EXPECT_THROW((void)estimate_noise(integers.view()), UsageError);
}

TEST(NoiseLevel, OfAConstantImageIsZero) {
    Image image({64, 64}, 1, DType::f32);
    std::fill_n(image.as<float>(), 64 * 64, 0.5F);
    EXPECT_EQ(estimate_noise(image.view()), 0);
}

float& sample(Image& image, int64_t y, int64_t x, int64_t c) {
    return image.as<float>()[(y * image.extent().w + x) * image.channels() + c];
}

TEST(DifferenceMap, HoldsTheLargestDifferenceOfEachCell) {
    Image a({10, 13}, 3, DType::f32), b({10, 13}, 3, DType::f32);
    sample(a, 3, 3, 2) = 0.5F;   // cell 0, 0
    sample(b, 0, 0, 0) = 0.25F;  // the same cell, less
    sample(b, 9, 12, 1) = 2.0F;  // the other way round, in the last cell, which is cut short both ways
    const DifferenceMap map = map_differences(a.view(), b.view());
    EXPECT_EQ(map.cell_px, 4);
    ASSERT_EQ(map.largest.size(), 3u * 4u);
    EXPECT_EQ(map.largest.front(), 0.5);
    EXPECT_EQ(map.largest.back(), 2);
    EXPECT_EQ(std::count(map.largest.begin(), map.largest.end(), 0.0), 10);
}

TEST(DifferenceMap, KeepsNotANumber) {
    Image a({8, 8}, 1, DType::f32), b({8, 8}, 1, DType::f32);
    sample(a, 5, 1, 0) = std::numeric_limits<float>::quiet_NaN();
    sample(a, 6, 1, 0) = 7;
    const DifferenceMap map = map_differences(a.view(), b.view());
    EXPECT_TRUE(std::isnan(map.largest[2]));
    EXPECT_EQ(map.largest[0], 0);
}

TEST(DifferenceMap, StaysSmallForLargeImages) {
    const Image a({30, 1000}, 1, DType::f32);
    const DifferenceMap map = map_differences(a.view(), a.view());
    EXPECT_EQ(map.cell_px, 32);
    EXPECT_EQ(map.largest.size(), 32u);
}

TEST(DifferenceMap, RefusesImagesOfUnequalShape) {
    const Image a({8, 8}, 1, DType::f32), b({8, 9}, 1, DType::f32);
    EXPECT_THROW((void)map_differences(a.view(), b.view()), std::exception);
}

}  // namespace
}  // namespace pb::image
