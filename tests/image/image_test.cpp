#include "image_support.hpp"

#include <cmath>
#include <limits>

namespace pb::image {
namespace {

using test::make_pattern;
using test::same_bytes;

TEST(FloatSamples, IntegersSurviveTheRoundTrip) {
    for (const DType dtype : {DType::u8, DType::u16}) {
        Image image({256, 257}, 1, dtype);
        for (int64_t i = 0; i < image.extent().pixels(); ++i) {
            if (dtype == DType::u8) image.as<uint8_t>()[i] = static_cast<uint8_t>(i);
            if (dtype == DType::u16) image.as<uint16_t>()[i] = static_cast<uint16_t>(i);
        }
        Image floats(image.extent(), 1, DType::f32);
        Image back(image.extent(), 1, dtype);
        to_float(image.view(), floats.view());
        from_float(floats.view(), back.view());
        EXPECT_TRUE(same_bytes(image, back));
        EXPECT_EQ(floats.as<float>()[7], 7.0F / static_cast<float>(full_scale(dtype)));
    }
}

TEST(FloatSamples, FloatsAreNeitherClippedNorRounded) {
    const Image image = make_pattern({5, 9}, 3, DType::f32);
    Image copy({5, 9}, 3, DType::f32);
    to_float(image.view(), copy.view());
    EXPECT_TRUE(same_bytes(image, copy));
    from_float(image.view(), copy.view());
    EXPECT_TRUE(same_bytes(image, copy));
}

TEST(FloatSamples, IntegersAreRoundedToEvenAndClipped) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::vector<std::pair<float, int>> cases{{0.5F, 128},                     // 127.5
                                                   {0.3F, 76},         {0.1F, 26},  // 25.5
                                                   {0.3F / 255.0F, 0}, {0.7F / 255.0F, 1}, {-3.0F, 0},
                                                   {-1e-9F, 0},        {1.0001F, 255},     {7e30F, 255},
                                                   {kInfinity, 255},   {-kInfinity, 0},    {std::nanf(""), 0}};
    Image image({1, static_cast<int64_t>(cases.size())}, 1, DType::f32);
    for (size_t i = 0; i < cases.size(); ++i) image.as<float>()[i] = cases[i].first;
    Image integers(image.extent(), 1, DType::u8);
    from_float(image.view(), integers.view());
    for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(integers.as<uint8_t>()[i], cases[i].second) << cases[i].first;
}

TEST(FloatSamples, PartsOfWiderImagesKeepTheirNeighbours) {
    const Image image = make_pattern({6, 8}, 3, DType::u8);
    Image floats({6, 8}, 3, DType::f32);
    const auto middle = [](auto view) {
        view.pixels = view.row(2) + 3 * view.pixel_bytes();
        view.extent = {2, 4};
        return view;
    };
    to_float(middle(image.view()), middle(floats.view()));
    for (int64_t y = 0; y < 6; ++y)
        for (int64_t x = 0; x < 8; ++x) {
            const int64_t i = (y * 8 + x) * 3;
            const bool inside = y >= 2 && y < 4 && x >= 3 && x < 7;
            EXPECT_EQ(floats.as<float>()[i], inside ? static_cast<float>(image.as<uint8_t>()[i]) / 255.0F : 0.0F);
        }
}

TEST(FloatSamples, DifferentExtentsAreRefused) {
    Image floats({4, 4}, 3, DType::f32);
    EXPECT_THROW(to_float(make_pattern({4, 5}, 3, DType::u8).view(), floats.view()), Error);
    EXPECT_THROW(to_float(make_pattern({4, 4}, 1, DType::u8).view(), floats.view()), Error);
}

TEST(Bands, ThatAreNotThereAreRefused) {
    const Image from = make_pattern({4, 4}, 3, DType::u8);
    Image to({4, 4}, 2, DType::u8);
    EXPECT_NO_THROW(copy_bands(from.view(), 1, 2, to.view(), 0));
    EXPECT_THROW(copy_bands(from.view(), 2, 2, to.view(), 0), Error);
    EXPECT_THROW(copy_bands(from.view(), 0, 2, to.view(), 1), Error);
    EXPECT_THROW(copy_bands(make_pattern({4, 4}, 3, DType::u16).view(), 0, 1, to.view(), 0), Error);
}

}  // namespace
}  // namespace pb::image
