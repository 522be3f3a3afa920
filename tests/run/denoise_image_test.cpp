// The function that programs embed, in a process without MPI. Its bits beside the program's: e2e/embedding_test.py.
#include "engine/memory.hpp"
#include "image/noise_level.hpp"
#include "support/messages.hpp"
#include "support/state_dict.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/denoise.hpp"
#include "patchbench/engine/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace pb::run {
namespace {

using testing::HasSubstr;

constexpr Extent kExtent{44, 60};

FloatImage make_picture(int64_t channels) {
    FloatImage picture{{}, kExtent, channels};
    for (int64_t i = 0; i < kExtent.pixels() * channels; ++i)
        picture.values.push_back(static_cast<float>(i * 7919 % 1013) / 1012.0F);
    return picture;
}

FloatImageView view(const FloatImage& picture) { return {picture.values.data(), picture.extent, picture.channels}; }

/// The columns 512 to 2559.
PixelView view_of_middle(const FloatImage& picture) {
    const auto whole = dense_view(reinterpret_cast<const std::byte*>(picture.values.data()), picture.extent,
                                  picture.channels, DType::f32);
    return whole.part({0, 512, {picture.extent.h, 2048}});
}

DenoiseOptions small_dncnn(int64_t channels = 3) {
    return {.network = UntrainedNetwork{network::DncnnShape{.channels = channels, .depth = 3, .width = 8}, 1},
            .sigma = 0.1,
            .patch = 16};
}

std::string refusal(const FloatImage& picture, const DenoiseOptions& options) {
    return usage_error([&] { (void)denoise(view(picture), options); });
}

TEST(DenoiseImage, BatchAndPatchWithAnExactHaloChangeNoBit) {
    for (const int64_t channels : {1, 3}) {
        const FloatImage picture = make_picture(channels);
        DenoiseOptions options = small_dncnn(channels);
        options.patch = 64;
        options.halo = 0;  // one window
        const FloatImage whole = denoise(view(picture), options);
        EXPECT_NE(whole.values, picture.values);
        EXPECT_EQ(whole.extent, kExtent);
        for (const int64_t batch : {1, 5}) {
            options = small_dncnn(channels);
            options.batch = batch;
            options.threads = 1;
            EXPECT_EQ(denoise(view(picture), options).values, whole.values) << "batch " << batch;
        }
    }
}

TEST(DenoiseImage, WithoutAHaloSeamsShow) {
    const FloatImage picture = make_picture(3);
    DenoiseOptions options = small_dncnn();
    const FloatImage exact = denoise(view(picture), options);
    options.halo = 0;
    EXPECT_NE(denoise(view(picture), options).values, exact.values);
}

TEST(DenoiseImage, ComputesInThePrecisionThatIsAskedFor) {
    const FloatImage picture = make_picture(3);
    DenoiseOptions options = small_dncnn();
    const FloatImage in_fp32 = denoise(view(picture), options);
    options.precision = Precision::bf16;
    EXPECT_NE(denoise(view(picture), options).values, in_fp32.values);
}

/// The engine native, which is taken here, has scratch memory for each thread.
TEST(DenoiseImage, ComputesInAsManyThreadsAsAreAskedFor) {
    const FloatImage picture = make_picture(3);
    DenoiseOptions options = small_dncnn();
    const auto peak_with = [&](int threads) {
        options.threads = threads;
        engine::reset_allocator_peaks({});
        (void)denoise(view(picture), options);
        return engine::allocator_counters({}).peak_allocated_bytes;
    };
    const int64_t one = peak_with(1), two = peak_with(2);
    EXPECT_GT(two, one);
    EXPECT_EQ(peak_with(3) - two, two - one);
}

TEST(DenoiseImage, TheNetworkIsToldSigma) {
    const FloatImage picture = make_picture(1);
    DenoiseOptions options{.network = UntrainedNetwork{network::DrunetShape{1, {8, 8}, 1}, 1}, .patch = 16};
    const FloatImage estimated = denoise(view(picture), options);
    options.sigma = 0.2;
    const FloatImage told = denoise(view(picture), options);
    EXPECT_NE(estimated.values, told.values);
    for (const float value : estimated.values) ASSERT_TRUE(std::isfinite(value));
}

class DenoiseByAFile : public test::InFolder {
  protected:
    DenoiseByAFile() {
        test::save_weights(engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, 1), file);
    }
    const std::string file = folder / "dncnn.safetensors";
};

TEST_F(DenoiseByAFile, WeightsMayBeToldTheirSigma) {
    const FloatImage picture = make_picture(3);
    DenoiseOptions options = small_dncnn();
    const FloatImage seeded = denoise(view(picture), options);
    options.network = WeightsFile{file, network::kind_of<network::DncnnShape>()};
    EXPECT_EQ(denoise(view(picture), options).values, seeded.values);
    options.network = WeightsFile{file, network::kind_of<network::DncnnShape>(), *options.sigma};
    EXPECT_EQ(denoise(view(picture), options).values, seeded.values) << "the same sigma scales by 1";
    options.network = WeightsFile{file, network::kind_of<network::DncnnShape>(), 0.2};
    EXPECT_NE(denoise(view(picture), options).values, seeded.values);
}

TEST(DenoiseImage, APictureWithoutNoiseHasTheSmallestLevel) {
    FloatImage picture = make_picture(1);
    std::ranges::fill(picture.values, 0.5F);
    DenoiseOptions options{.network = UntrainedNetwork{network::DrunetShape{1, {8, 8}, 1}, 1}, .patch = 16};
    const FloatImage estimated = denoise(view(picture), options);
    options.sigma = 1e-4;  // of which --sigma takes no less either
    EXPECT_EQ(denoise(view(picture), options).values, estimated.values);
    options.sigma = 0;
    EXPECT_NE(denoise(view(picture), options).values, estimated.values);
}

TEST(DenoiseImage, NoiseIsFoundInTheMiddleOfAtMost2048Pixels) {
    constexpr int64_t kWidth = 2048 + 1024;
    FloatImage picture{std::vector<float>(static_cast<size_t>(16 * kWidth)), {16, kWidth}, 1};
    std::minstd_rand random(1);
    for (size_t i = 0; i < picture.values.size(); ++i) {
        const auto column = static_cast<int64_t>(i) % kWidth;
        const bool is_outside = column < 512 || column >= kWidth - 512;
        const float uniform = static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max());
        picture.values[i] = 0.5F + (is_outside ? 0.4F : 0.1F) * (uniform - 0.5F);
    }
    const network::NetworkShape shape = network::DrunetShape{1, {8, 8}, 1};
    DenoiseOptions options{.network = UntrainedNetwork{shape, 1}, .patch = 16, .halo = 0};
    const FloatImage estimated = denoise(view(picture), options);
    options.sigma = image::find_noise(view_of_middle(picture)).sigma;
    EXPECT_EQ(denoise(view(picture), options).values, estimated.values);
    for (float& value : picture.values) value *= 100;
    options.sigma.reset();
    EXPECT_THAT(refusal(picture, options), HasSubstr("more than 1"));
}

TEST(DenoiseImage, WhatCannotBeIsRefused) {
    const FloatImage picture = make_picture(3);
    const auto refusal_of = [&](auto change) {
        DenoiseOptions options = small_dncnn();
        change(options);
        return refusal(picture, options);
    };
    EXPECT_THAT(refusal_of([](auto& o) { o.patch = 0; }), HasSubstr("patch"));
    EXPECT_THAT(refusal_of([](auto& o) { o.batch = 0; }), HasSubstr("batch = 0"));
    EXPECT_THAT(refusal_of([](auto& o) { o.threads = -1; }), HasSubstr("threads = -1"));
    EXPECT_THAT(refusal_of([](auto& o) { o.threads = 100000; }), HasSubstr("threads = 100000"));
    EXPECT_THAT(refusal_of([](auto& o) { o.sigma = 2; }), HasSubstr("sigma = 2"));
    EXPECT_THAT(refusal_of([](auto& o) { o.sigma = std::nan(""); }), HasSubstr("sigma = nan"));
    EXPECT_THAT(refusal_of([](auto& o) { o.device = {DeviceKind::cuda, 1000}; }), HasSubstr("device = cuda 1000"));
    EXPECT_THAT(refusal_of([](auto& o) { o.network = WeightsFile{"/none"}; }), HasSubstr("/none"));
    EXPECT_THAT(refusal_of([](auto& o) { o.sigma = 1e-30; }), HasSubstr("sigma = 1e-30"));
    EXPECT_THAT(refusal_of([](auto& o) { o.device = {DeviceKind::cpu, 1}; }), HasSubstr("device = cpu 1"));
    for (const auto& shape : {network::DncnnShape{.depth = 0}, network::DncnnShape{.depth = 100'000'000},
                              network::DncnnShape{.depth = 3, .width = -8}})
        EXPECT_THAT(refusal_of([&](auto& o) { o.network = UntrainedNetwork{shape, 1}; }), HasSubstr("network"));
    EXPECT_THAT(refusal(picture, small_dncnn(1)), HasSubstr("for 1 image channel, the image has 3"));
}

TEST_F(DenoiseByAFile, ATrainedLevelIsOneThatNetworksHave) {
    for (const double level : {0.0, -1.0, 2.0, std::nan("")})
        EXPECT_THAT(
            refusal(make_picture(3), {.network = WeightsFile{file, network::kind_of<network::DncnnShape>(), level}}),
            HasSubstr("trained_sigma"))
            << level;
}

TEST(DenoiseImage, AnExtentIsLookedAtBeforeTheValues) {
    const std::vector<float> values(12, 0.5F);
    for (const Extent extent :
         {Extent{0, 4}, Extent{-1000000, -1000000}, Extent{int64_t{1} << 62, 4}, Extent{4, int64_t{1} << 62}})
        EXPECT_THAT(usage_error([&] {
                        (void)denoise({values.data(), extent, 3}, small_dncnn());
                    }),
                    HasSubstr("pixels"));
    DenoiseOptions options = small_dncnn();
    options.sigma.reset();
    for (const Extent thin : {Extent{1, 4}, Extent{4, 1}})
        EXPECT_THAT(usage_error([&] { (void)denoise({values.data(), thin, 3}, options); }), HasSubstr("sigma"));
}

TEST(DenoiseImage, AnOutputThatIsNotFiniteIsAnError) {
    FloatImage picture = make_picture(3);
    std::ranges::fill(picture.values, 3e38F);
    EXPECT_THROW((void)denoise(view(picture), small_dncnn()), Error);
}

TEST(DenoiseImage, ValuesThatAreNotFiniteAreNamed) {
    FloatImage picture = make_picture(3);
    picture.values[1234] = std::numeric_limits<float>::infinity();
    EXPECT_THAT(refusal(picture, small_dncnn()), HasSubstr("value 1234"));
    EXPECT_THAT(usage_error([&] { (void)denoise({nullptr, kExtent, 3}, small_dncnn()); }), HasSubstr("no values"));
}

}  // namespace
}  // namespace pb::run
