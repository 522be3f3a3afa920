#include "image/noise_level.hpp"

#include "image/synthetic.hpp"
#include "image_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace pb::image {
namespace {

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
    }
}

/// What a JPEG of 4:2:0 makes of an image: colours are those of blocks of 2 x 2 pixels, brightness stays.
void halve_colours(Image& image) {
    const int64_t width = image.extent().w;
    auto* samples = image.as<float>();
    for (int64_t y = 0; y < image.extent().h; y += 2)
        for (int64_t x = 0; x < width; x += 2) {
            std::array<float*, 4> block{};
            std::array<float, 4> brightness{};
            float mean_of_all = 0;
            std::array<float, 3> mean{};
            for (size_t i = 0; i < 4; ++i) {
                block[i] = samples + 3 * ((y + static_cast<int64_t>(i / 2)) * width + x + static_cast<int64_t>(i % 2));
                brightness[i] = 0.299F * block[i][0] + 0.587F * block[i][1] + 0.114F * block[i][2];
                mean_of_all += brightness[i] / 4;
                for (size_t c = 0; c < 3; ++c) mean[c] += block[i][c] / 4;
            }
            for (size_t i = 0; i < 4; ++i)
                for (size_t c = 0; c < 3; ++c) block[i][c] = mean[c] + brightness[i] - mean_of_all;
        }
}

TEST(NoiseLevel, IsFoundInBrightnessWhereColoursLostDetail) {
    for (const double sigma : {0.05, 0.1, 0.2}) {
        Image image = noisy_scene(sigma, 6, 3);
        EXPECT_NEAR(find_noise(image.view(), 0, true).sigma, sigma, 0.1 * sigma);
        halve_colours(image);
        EXPECT_NEAR(find_noise(image.view(), 0, true).sigma, sigma, 0.1 * sigma);
        EXPECT_NEAR(estimate_noise(image.view()), 0.67 * sigma, 0.07 * sigma) << "two thirds of it";
    }
    EXPECT_EQ(find_noise(noisy_scene(0.1, 6, 1).view(), 0, true).sigma, estimate_noise(noisy_scene(0.1, 6, 1).view()));
}

/// The noise of one channel in three, with a share of noise that each has for itself.
Image with_noise_of_colours(double equal, double own) {
    Image grey = noisy_scene(equal, 9, 1), image({500, 600}, 3, DType::f32);
    for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] = grey.as<const float>()[i / 3];
    if (own > 0) add_noise(own, 11, 0, 0, image.view());
    return image;
}

TEST(NoiseLevel, ThatIsEqualInAllColoursCountsHalfAsMuchAgain) {
    for (const double sigma : {0.03, 0.1, 0.2}) {
        const NoiseEstimate found = find_noise(with_noise_of_colours(sigma, 0).view());
        EXPECT_TRUE(found.is_grey);
        EXPECT_NEAR(found.sigma, 1.495 * sigma, 0.1 * sigma);
        EXPECT_EQ(found.finest, found.sigma);
    }
    EXPECT_FALSE(find_noise(with_noise_of_colours(0.01, 0).view()).is_grey) << "texture is equal, too";
    EXPECT_FALSE(find_noise(with_noise_of_colours(0.05, 0.1).view()).is_grey) << "most of it is independent";
    EXPECT_FALSE(find_noise(noisy_scene(0.1, 9, 3).view()).is_grey);
    EXPECT_FALSE(find_noise(noisy_scene(0.1, 9, 1).view()).is_grey);
    EXPECT_FALSE(find_noise(with_noise_of_colours(0.1, 0).view(), 0, true).is_grey)
        << "in such files it always counts so";
}

/// Twice as large, with the means of neighbours between them. White noise keeps a quarter of its level in the finest
/// detail, and 0.87 of it at half the resolution.
Image enlarged(const Image& image) {
    const auto [height, width] = image.extent();
    Image large({2 * height, 2 * width}, 1, DType::f32);
    const auto at = [&](int64_t y, int64_t x) {
        return image.as<const float>()[std::min(y, height - 1) * width + std::min(x, width - 1)];
    };
    for (int64_t y = 0; y < 2 * height; ++y)
        for (int64_t x = 0; x < 2 * width; ++x) {
            const int64_t top = y / 2, left = x / 2, bottom = (y + 1) / 2, right = (x + 1) / 2;
            large.as<float>()[y * 2 * width + x] =
                (at(top, left) + at(top, right) + at(bottom, left) + at(bottom, right)) / 4;
        }
    return large;
}

TEST(NoiseLevel, ThatIsSmoothIsFoundAtHalfTheResolution) {
    for (const double sigma : {0.1, 0.2}) {
        const Image large = enlarged(noisy_scene(sigma, 7, 1));
        const NoiseEstimate found = find_noise(large.view());
        EXPECT_EQ(found.finest, estimate_noise(large.view()));
        EXPECT_NEAR(found.finest, 0.25 * sigma, 0.05 * sigma);
        EXPECT_NEAR(found.sigma, 0.87 * sigma, 0.09 * sigma);
        EXPECT_EQ(found.sigma, estimate_smooth_noise(large.view()));
    }
}

TEST(NoiseLevel, ThatIsSmoothIsFoundBesideGapsAndWhiteAreas) {
    for (const float shift : {0.0F, 0.6F}) {
        Image large = enlarged(noisy_scene(0.1, 7, 1));
        for (int64_t i = 0; i < large.num_samples(); ++i)
            if (float& sample = large.as<float>()[i]; i % 1200 < 500)
                sample = shift > 0 ? std::min(sample + shift, 1.0F) : 0.5F;
        EXPECT_NEAR(find_noise(large.view()).sigma, 0.087, 0.009) << shift;
    }
}

TEST(NoiseLevel, ThatIsSmoothAndEqualInAllColoursIsFoundInBrightness) {
    for (const double sigma : {0.075, 0.2}) {  // of the smaller one too little is in the finest detail to be seen there
        const Image large = enlarged(noisy_scene(sigma, 7, 1));
        Image image(large.extent(), 3, DType::f32);
        for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] = large.as<const float>()[i / 3];
        const NoiseEstimate found = find_noise(image.view());
        EXPECT_TRUE(found.is_grey) << sigma;
        EXPECT_NEAR(found.sigma, 1.495 * 0.87 * sigma, 0.15 * sigma);
        EXPECT_LT(found.finest, found.sigma / 2);
    }
}

/// Brightness rises from left to right, from 0.1 to 0.9, and noise from `dark` to `bright`.
Image ramp(double dark, double bright, int64_t channels) {
    Image image({256, 512}, channels, DType::f32), noise({256, 512}, channels, DType::f32);
    add_noise(1, 3, 0, 0, noise.view());
    for (int64_t i = 0; i < image.num_samples(); ++i) {
        const double place = static_cast<double>(i / channels % 512) / 511;
        image.as<float>()[i] =
            static_cast<float>(0.1 + 0.8 * place + (dark + (bright - dark) * place) * noise.as<const float>()[i]);
    }
    return image;
}

TEST(NoiseLevel, ThatDiffersWithBrightnessIsFoundInDarkAndBrightRegions) {
    for (const auto& [dark, bright] : {std::pair(0.01, 0.05), {0.05, 0.01}})
        for (const auto& [channels, is_lossy] : {std::pair(int64_t{1}, false), {3, false}, {3, true}}) {
            const auto found = find_noise(ramp(dark, bright, channels).view(), 0, is_lossy).by_brightness;
            ASSERT_TRUE(found) << dark << " in " << channels;
            EXPECT_NEAR(found->dark, dark + (bright - dark) / 8, 0.25 * (dark + (bright - dark) / 8));
            EXPECT_NEAR(found->bright, bright + (dark - bright) / 8, 0.25 * (bright + (dark - bright) / 8));
        }
    EXPECT_FALSE(find_noise(ramp(0.04, 0.05, 1).view()).by_brightness) << "hardly";
    EXPECT_FALSE(find_noise(ramp(0.01, 0.05, 1).view().part({0, 0, {128, 160}})).by_brightness) << "too few regions";
    for (const double sigma : {0.01, 0.1})
        EXPECT_FALSE(find_noise(noisy_scene(sigma, 8, 3).view()).by_brightness) << "with structures";
    Image weave = ramp(0.02, 0.02, 1);
    for (int64_t i = 0; i < weave.num_samples(); ++i)
        if (const auto y = static_cast<float>(i / 512), x = static_cast<float>(i % 512); x >= 320)
            weave.as<float>()[i] += 0.1F * std::sin(1.2566F * x) * std::sin(1.2566F * y);
    EXPECT_FALSE(find_noise(weave.view()).by_brightness) << "a texture in bright regions";
    EXPECT_FALSE(find_noise(ramp(0.001, 0.005, 1).view(), 1.0 / 255).by_brightness) << "of the step";
}

TEST(NoiseLevel, OfWhiteNoiseAndOfStructuresIsThatOfTheFinestDetail) {
    for (const double sigma : {0.0, 0.01, 0.05, 0.2}) {
        const Image white = noisy_scene(sigma, 8, 3);
        EXPECT_EQ(estimate_smooth_noise(white.view()), std::nullopt) << sigma;
        EXPECT_EQ(find_noise(white.view()).sigma, estimate_noise(white.view())) << sigma;
    }
    EXPECT_EQ(estimate_smooth_noise(enlarged(noisy_scene(0, 8, 1)).view()), std::nullopt);
    EXPECT_EQ(estimate_smooth_noise(enlarged(noisy_scene(0.1, 8, 1)).view().part({0, 0, {95, 95}})), std::nullopt)
        << "too few regions";
    EXPECT_EQ(estimate_smooth_noise(enlarged(enlarged(noisy_scene(0.2, 8, 1))).view()), std::nullopt) << "too coarse";
}

TEST(NoiseLevel, OfSamplesThatUseAMillionthOfTheRangeIsTheirs) {
    Image image = noisy_scene(0.1, 5, 1);
    for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] *= 1e-6F;
    EXPECT_NEAR(estimate_noise(image.view()), 0.1e-6, 0.02e-6) << "they have no step of 8 bits";
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
    Image image({16, 16}, 1, DType::f32);
    for (int64_t i = 0; i < 256; ++i) {
        const int64_t y = i / 16, x = i % 16, block = y / 2 * 8 + x / 2;
        const bool first = y % 2 == 0 && x % 2 == 0;
        image.as<float>()[i] = static_cast<float>(100 + (first ? block < 24 ? 1 : 2 : 0)) / 255;
    }
    EXPECT_NEAR(estimate_noise(image.view()), 1.7 / 510 / 0.6745, 1e-7);
}

/// Where the noise is about one step of the samples, the details take few values.
TEST(NoiseLevel, OfSamplesWithAStepIsTheMedianOfGroupedValues) {
    for (const double step : {1.0 / 40, 1.0 / 51, 1.0 / 200, 1.0 / 4095}) {
        Image image({500, 600}, 1, DType::f32);
        const std::span values(image.as<float>(), static_cast<size_t>(image.extent().pixels()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = 0.4F + 2e-4F * static_cast<float>(i % 600);
        add_noise(1.04 * step, 3, 0, 0, image.view());
        for (float& value : values) value = static_cast<float>(std::round(value / step) * step);
        EXPECT_NEAR(estimate_noise(image.view(), step), 1.08 * step, 0.06 * step) << step;  // rounding adds to it
    }
}

TEST(NoiseLevel, OfARowOfPixelsIsUnknown) {
    for (const Extent extent : {Extent{1, 32}, Extent{32, 1}})
        EXPECT_THROW((void)estimate_noise(Image(extent, 1, DType::f32).view()), Error);
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
    for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] = std::max(image.as<float>()[i], 0.0F);
    EXPECT_THROW((void)estimate_noise(image.view()), UsageError);
}

TEST(NoiseLevel, OfAConstantImageIsZero) {
    Image image({64, 64}, 1, DType::f32);
    std::fill_n(image.as<float>(), 64 * 64, 0.5F);
    EXPECT_EQ(estimate_noise(image.view()), 0);
}

}  // namespace
}  // namespace pb::image
