// The row functions against the definition in convert.hpp, and the loops of each instruction set against plain ones.
#include "device/convert.hpp"

#include "base/half.hpp"
#include "base/sample_value.hpp"
#include "device/rows.hpp"
#include "support/instruction_sets.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace pb::device {
namespace {

template <class Sample>
constexpr DType kTypeOf = sizeof(Sample) == 1   ? DType::u8
                          : sizeof(Sample) == 2 ? DType::u16
                                                : DType::f32;

template <class Sample>
std::vector<Sample> all_values() {
    std::vector<Sample> values(size_t{std::numeric_limits<Sample>::max()} + 1);
    std::iota(values.begin(), values.end(), Sample{0});
    return values;
}

template <class Sample>
std::vector<float> to_f32(const std::vector<Sample>& samples, int64_t channels, const Conversion& conversion) {
    const int64_t count = static_cast<int64_t>(samples.size()) / channels;
    std::vector<float> network(count * (channels + (conversion.sigma ? 1 : 0)));
    convert_row_to_f32(samples.data(), kTypeOf<Sample>, count, channels, conversion, network.data());
    return network;
}

template <class Sample>
std::vector<Sample> from_f32(const std::vector<float>& network, const Conversion& conversion) {
    std::vector<Sample> samples(network.size());
    convert_row_from_f32(network.data(), static_cast<int64_t>(network.size()), 1, conversion, kTypeOf<Sample>,
                         samples.data());
    return samples;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Values around every rounding boundary, beyond both ends, and the special ones.
std::vector<float> hard_values() {
    std::vector<float> values{0.0F,
                              -0.0F,
                              1.0F,
                              2.0F,
                              -3.0F,
                              0.5F,
                              1e-40F,
                              1e30F,
                              -1e30F,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
    for (int k = 0; k < 255; ++k) {
        const float tie = (static_cast<float>(k) + 0.5F) / 255.0F;
        values.insert(values.end(), {std::nextafter(tie, 0.0F), tie, std::nextafter(tie, 1.0F)});
    }
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-0.25F, 1.25F);
    for (int i = 0; i < 5000; ++i) values.push_back(uniform(random));
    return values;
}

template <class Sample>
class ConvertIntegers : public testing::Test {};
using Integers = testing::Types<uint8_t, uint16_t>;
TYPED_TEST_SUITE(ConvertIntegers, Integers);

TYPED_TEST(ConvertIntegers, EveryValueIsDividedExactly) {
    constexpr auto kFull = static_cast<float>(std::numeric_limits<TypeParam>::max());
    for (const float gain : {1.0F, 0.7F, 2.0F}) {
        const auto network = to_f32(all_values<TypeParam>(), 1, {.gain = gain});
        for (size_t v = 0; v < network.size(); ++v)
            ASSERT_EQ(network[v], static_cast<float>(v) / kFull * gain) << "value " << v << " gain " << gain;
    }
}

TYPED_TEST(ConvertIntegers, RoundTripIsTheIdentity) {
    const auto samples = all_values<TypeParam>();
    for (const float gain : {1.0F, 0.1F, 0.333F, 1.7F, 25.0F}) {
        const Conversion conversion{.gain = gain};
        EXPECT_EQ(from_f32<TypeParam>(to_f32(samples, 1, conversion), conversion), samples) << "gain " << gain;
    }
}

TYPED_TEST(ConvertIntegers, RoundsToNearestEvenAndClips) {
    constexpr auto kFull = static_cast<float>(std::numeric_limits<TypeParam>::max());
    const auto values = hard_values();
    const auto samples = from_f32<TypeParam>(values, {});
    for (size_t i = 0; i < values.size(); ++i) {
        const float rounded = std::isnan(values[i]) ? 0.0F : std::nearbyint(values[i] * kFull);
        const float expected = std::min(std::max(rounded, 0.0F), kFull);
        ASSERT_EQ(static_cast<float>(samples[i]), expected) << "value " << values[i];
    }
}

TEST(Convert, F32KeepsWhatLiesOutsideOfTheRange) {
    const std::vector<float> values{-2.0F, 0.25F, 7.5F};
    EXPECT_EQ(from_f32<float>(to_f32(values, 1, {.gain = 2.0F}), {.gain = 2.0F}), values);
}

TEST(Convert, SigmaFollowsEachPixelWithoutGain) {
    const Conversion plain{.gain = 0.5F};
    const Conversion mapped{.gain = 0.5F, .sigma = 0.1F};
    for (const int64_t channels : {1, 2, 3})
        for (const int64_t count : {1, 2, 3, 4, 5, 31, 64}) {
            std::vector<uint16_t> samples(count * channels);
            for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<uint16_t>(i * 997);
            const auto expected = to_f32(samples, channels, plain);
            const auto network = to_f32(samples, channels, mapped);
            for (int64_t i = 0; i < count; ++i) {
                for (int64_t c = 0; c < channels; ++c)
                    ASSERT_EQ(network[i * (channels + 1) + c], expected[i * channels + c]);
                ASSERT_EQ(network[i * (channels + 1) + channels], 0.1F);
            }
        }
}

/// The loops for `samples` of `channels`; the buffers end where the row ends, for the sanitizer to see.
template <class Sample>
void expect_definition(const std::vector<Sample>& samples, int64_t channels, bool extra) {
    const auto rows = std::get<RowKernels<Sample>>(find_row_kernels());
    const int64_t count = static_cast<int64_t>(samples.size()) / channels;
    const RowScale scale{1.3F, 0.2F, extra};
    std::vector<float> network, expected;
    for (size_t i = 0; i < samples.size(); ++i) {
        expected.push_back(to_unit(samples[i]) * scale.gain);
        if (extra && (static_cast<int64_t>(i) + 1) % channels == 0) expected.push_back(scale.sigma);
    }
    network.resize(expected.size());
    rows.to_f32(samples.data(), count, channels, scale, network.data());
    ASSERT_TRUE(same_bits(network, expected)) << count << " pixels of " << channels;
    std::vector<Sample> back(network.size()), expected_back;
    for (const float value : network) expected_back.push_back(from_unit<Sample>(value * 0.9F));
    rows.from_f32(network.data(), static_cast<int64_t>(network.size()), 0.9F, back.data());
    ASSERT_EQ(back, expected_back) << count << " pixels of " << channels;
}

TEST(RowKernels, AllInstructionSetsGiveTheSameBits) {
    for (const int64_t target : test::targets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        const test::OnTarget chosen(target);
        std::mt19937 random(2);
        std::uniform_real_distribution<float> uniform(-0.25F, 1.25F);
        for (const int64_t channels : {1, 2, 3})
            for (const bool extra : {false, true})
                for (int64_t count = 0; count < 80; ++count) {
                    std::vector<uint8_t> bytes(count * channels);
                    std::vector<uint16_t> words(count * channels);
                    std::vector<float> floats(count * channels);
                    for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
                    for (auto& word : words) word = static_cast<uint16_t>(random());
                    for (auto& value : floats) value = uniform(random);
                    expect_definition(bytes, channels, extra);
                    expect_definition(words, channels, extra);
                    expect_definition(floats, channels, extra);
                }
    }
}

TEST(RowKernels, AllInstructionSetsAgreeOnAllSamplesAndHardValues) {
    for (const int64_t target : test::targets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        const test::OnTarget chosen(target);
        expect_definition(all_values<uint8_t>(), 1, false);
        expect_definition(all_values<uint16_t>(), 1, true);
        const auto values = hard_values();
        std::vector<uint8_t> bytes(values.size()), expected;
        for (const float value : values) expected.push_back(from_unit<uint8_t>(value));
        std::get<RowKernels<uint8_t>>(find_row_kernels())
            .from_f32(values.data(), static_cast<int64_t>(values.size()), 1.0F, bytes.data());
        EXPECT_EQ(bytes, expected);
    }
}

TEST(ConvertRows, AWindowOutOfAnImageAndBackIsTheIdentity) {
    constexpr int64_t kWidth = 23;
    constexpr Extent kWindow{5, 7};
    std::vector<uint8_t> image(9 * kWidth * 3);
    std::iota(image.begin(), image.end(), uint8_t{1});
    std::vector<uint8_t> copy(image.size(), 0);
    const auto window_of = [&](std::vector<uint8_t>& pixels) {
        auto* first = reinterpret_cast<std::byte*>(pixels.data());
        return dense_view(first, {9, kWidth}, 3, DType::u8).part({2, 4, kWindow});
    };
    std::vector<float> network(kWindow.pixels() * 3);
    convert_rows_to_f32(window_of(image), {}, network.data(), kWindow.w * 3);
    convert_rows_from_f32(network.data(), kWindow.w * 3, {}, window_of(copy));
    for (int64_t i = 0; i < static_cast<int64_t>(image.size()); ++i) {
        const int64_t row = i / 3 / kWidth;
        const int64_t column = i / 3 % kWidth;
        const bool inside = row >= 2 && row < 7 && column >= 4 && column < 11;
        ASSERT_EQ(copy[i], inside ? image[i] : 0) << "row " << row << " column " << column;
    }
}

// Whole batches on the CPU: every layout and element type against the row functions.

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
    BatchView planar = samples;
    planar.layout = Layout::contiguous;
    EXPECT_THROW(samples_to_network(planar, network, {}, stream), Error);
    EXPECT_THROW(network_to_samples(network, planar, {}, stream), Error);
    network.device = {DeviceKind::cuda, 0};
    EXPECT_THROW(network_to_samples(network, samples, {}, stream), Error);
}

}  // namespace
}  // namespace pb::device
