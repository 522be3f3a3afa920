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

double ssim(const PixelView& image, const PixelView& reference) {
    return ssim_of(ssim_sum(image, reference), image.extent, image.channels);
}

TEST(Quality, BandsOfRowsThatOverlapHaveTheSimilarityOfTheWholeImage) {
    const Pair pair = make_pair(3);
    const Extent whole = pair.image.extent();
    double sum = 0;
    for (int64_t row = 0; row < whole.h; row += 23) {
        const Rect band{row, 0, {std::min<int64_t>(23 + kSsimWindow - 1, whole.h - row), whole.w}};
        if (band.extent.h < kSsimWindow) continue;
        sum += ssim_sum(pair.image.view().part(band), pair.reference.view().part(band));
    }
    EXPECT_NEAR(ssim_of(sum, whole, 3), ssim(pair.image.view(), pair.reference.view()), 1e-12);
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
