// Whole batches on the CPU: every layout and element type against the row functions.
#include "base/half.hpp"
#include "device/convert.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace pb::device {
namespace {

constexpr Shape kShape{3, 3, 37, 41};  // more pixels an image than one block of the conversion

std::vector<uint8_t> random_samples(const Shape& shape) {
    std::mt19937 random(3);
    std::vector<uint8_t> samples(shape.elements());
    for (auto& sample : samples) sample = static_cast<uint8_t>(random());
    return samples;
}

/// Element (n, c, pixel) of a batch as f32.
float element(const BatchView& view, int64_t n, int64_t c, int64_t pixel) {
    const int64_t pixels = view.shape.h * view.shape.w;
    const int64_t index = view.layout == Layout::channels_last ? (n * pixels + pixel) * view.shape.c + c
                                                               : (n * view.shape.c + c) * pixels + pixel;
    if (view.dtype == DType::f32) return static_cast<const float*>(view.pointer)[index];
    const uint16_t bits = static_cast<const uint16_t*>(view.pointer)[index];
    return view.dtype == DType::bf16 ? bf16_value(bits) : f16_value(bits);
}

float rounded_to(DType dtype, float value) {
    if (dtype == DType::bf16) return bf16_value(bf16_bits(value));
    return dtype == DType::f16 ? f16_value(f16_bits(value)) : value;
}

struct Case {
    DType dtype;
    Layout layout;
    bool sigma;
};

class ConvertView : public testing::TestWithParam<Case> {
  protected:
    std::vector<uint8_t> samples = random_samples(kShape);
    Conversion conversion{.gain = 0.8F, .sigma = GetParam().sigma ? std::optional(0.3F) : std::nullopt};
    Shape network_shape{kShape.n, kShape.c + (GetParam().sigma ? 1 : 0), kShape.h, kShape.w};
    std::vector<float> memory = std::vector<float>(network_shape.elements());
    BatchView network{memory.data(), network_shape, GetParam().dtype, GetParam().layout, {}};
    BatchView view{samples.data(), kShape, DType::u8, Layout::channels_last, {}};
    Stream stream{DeviceId{}};
};

TEST_P(ConvertView, EqualsTheRowFunctionElementByElement) {
    samples_to_network(view, network, conversion, stream);
    std::vector<float> row(network_shape.elements());
    convert_row_to_f32(samples.data(), DType::u8, kShape.pixels(), kShape.c, conversion, row.data());
    const int64_t pixels = kShape.h * kShape.w;
    for (int64_t n = 0; n < kShape.n; ++n)
        for (int64_t pixel = 0; pixel < pixels; ++pixel)
            for (int64_t c = 0; c < network_shape.c; ++c)
                ASSERT_EQ(element(network, n, c, pixel),
                          rounded_to(GetParam().dtype, row[(n * pixels + pixel) * network_shape.c + c]));
}

TEST_P(ConvertView, ThereAndBackIsTheIdentity) {
    if (GetParam().sigma) return;  // the way back has no extra channel
    samples_to_network(view, network, conversion, stream);
    std::vector<uint8_t> back(samples.size());
    network_to_samples(network, {back.data(), kShape, DType::u8, Layout::channels_last, {}}, conversion, stream);
    const int tolerance = GetParam().dtype == DType::bf16 ? 1 : 0;  // bf16 tells 256 steps apart up to 0.5 only
    for (size_t i = 0; i < samples.size(); ++i) ASSERT_NEAR(back[i], samples[i], tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndLayouts, ConvertView,
    testing::Values(Case{DType::f32, Layout::channels_last, false}, Case{DType::f32, Layout::channels_last, true},
                    Case{DType::f32, Layout::contiguous, false}, Case{DType::f32, Layout::contiguous, true},
                    Case{DType::bf16, Layout::channels_last, false}, Case{DType::bf16, Layout::channels_last, true},
                    Case{DType::bf16, Layout::contiguous, true}, Case{DType::f16, Layout::channels_last, false},
                    Case{DType::f16, Layout::contiguous, true}));

TEST(ConvertViews, RefusesViewsThatDoNotFit) {
    std::vector<float> memory(1000);
    Stream stream{DeviceId{}};
    const Shape shape{1, 3, 4, 4};
    const BatchView samples{memory.data(), shape, DType::u8, Layout::channels_last, {}};
    BatchView network{memory.data(), shape, DType::f32, Layout::channels_last, {}};
    EXPECT_NO_THROW(samples_to_network(samples, network, {}, stream));
    EXPECT_THROW(samples_to_network(samples, network, {.sigma = 0.1F}, stream), Error);
    network.dtype = DType::u8;
    EXPECT_THROW(samples_to_network(samples, network, {}, stream), Error);
    network.dtype = DType::f32;
    network.shape.w = 5;
    EXPECT_THROW(network_to_samples(network, samples, {}, stream), Error);
    network.shape.w = 4;
    network.device = {DeviceKind::cuda, 0};
    EXPECT_THROW(network_to_samples(network, samples, {}, stream), Error);
}

}  // namespace
}  // namespace pb::device
