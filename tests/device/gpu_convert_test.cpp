// Conversion on the device against conversion on the CPU: the same bits for every type, layout and size. And the counts
// of what is not finite.
#include "device/convert.hpp"
#include "device/part_count.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace pb::device {
namespace {

constexpr DeviceId kCuda{DeviceKind::cuda, 0};

/// Samples of every kind: all values of u8, u16; f32 on both sides of [0,1].
std::vector<std::byte> random_samples(DType dtype, int64_t count) {
    std::vector<std::byte> bytes(count * size_of(dtype));
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-0.5F, 1.5F);
    for (int64_t i = 0; i < count; ++i) {
        const auto word = static_cast<uint16_t>(random());
        const float value = uniform(random);
        std::memcpy(bytes.data() + i * size_of(dtype), dtype == DType::f32 ? static_cast<const void*>(&value) : &word,
                    size_of(dtype));
    }
    return bytes;
}

struct Case {
    DType samples;
    DType network;
    Layout layout;
    int64_t channels;
    bool sigma;
};

std::string name(const testing::TestParamInfo<Case>& info) {
    const Case& c = info.param;
    return std::string(name_of(c.samples)) + "_" + std::string(name_of(c.network)) + "_" +
           std::string(name_of(c.layout)) + "_" + std::to_string(c.channels) + (c.sigma ? "_sigma" : "");
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const DType samples : {DType::u8, DType::u16, DType::f32})
        for (const DType network : {DType::f32, DType::bf16, DType::f16})
            for (const Layout layout : {Layout::channels_last, Layout::contiguous})
                for (const int64_t channels : {1, 3})
                    for (const bool sigma : {false, true}) cases.push_back({samples, network, layout, channels, sigma});
    return cases;
}

void upload(const DeviceBuffer& buffer, const std::vector<std::byte>& bytes, Stream& stream) {
    copy_to_device(buffer.pointer(), bytes.data(), bytes.size(), stream);
}

std::vector<std::byte> download(const DeviceBuffer& buffer, Stream& stream) {
    std::vector<std::byte> bytes(buffer.bytes());
    copy_to_host(bytes.data(), buffer.pointer(), bytes.size(), stream);
    stream.synchronise();
    return bytes;
}

/// The same view on the device's memory.
BatchView on_device(BatchView view, const DeviceBuffer& buffer) {
    view.pointer = buffer.pointer();
    view.device = kCuda;
    return view;
}

void expect_same_in(const BatchView& samples, const BatchView& network, const Conversion& conversion) {
    Stream cpu{DeviceId{}};
    Stream cuda{kCuda};
    samples_to_network(samples, network, conversion, cpu);
    const DeviceBuffer device_samples(kCuda, samples.bytes());
    const DeviceBuffer device_network(kCuda, network.bytes());
    copy_to_device(device_samples.pointer(), samples.pointer, samples.bytes(), cuda);
    samples_to_network(on_device(samples, device_samples), on_device(network, device_network), conversion, cuda);
    const auto result = download(device_network, cuda);
    ASSERT_EQ(std::memcmp(result.data(), network.pointer, network.bytes()), 0);
}

void expect_same_back(const BatchView& network, const BatchView& samples, const Conversion& conversion) {
    Stream cpu{DeviceId{}};
    Stream cuda{kCuda};
    network_to_samples(network, samples, conversion, cpu);
    const DeviceBuffer device_samples(kCuda, samples.bytes());
    const DeviceBuffer device_network(kCuda, network.bytes());
    copy_to_device(device_network.pointer(), network.pointer, network.bytes(), cuda);
    network_to_samples(on_device(network, device_network), on_device(samples, device_samples), conversion, cuda);
    const auto result = download(device_samples, cuda);
    ASSERT_EQ(std::memcmp(result.data(), samples.pointer, samples.bytes()), 0);
}

class GpuConvert : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        if (visible_cuda_devices().empty()) GTEST_SKIP() << why_no_cuda_device();
        select_device(kCuda);
    }
};

// Sizes that no vector width divides, a single pixel, and a whole number of packs.
const std::vector<Shape> kShapes{{1, 0, 1, 1}, {2, 0, 37, 41}, {3, 0, 5, 129}, {4, 0, 32, 64}};

TEST_P(GpuConvert, InputEqualsTheCpuBitForBit) {
    const Case c = GetParam();
    for (Shape shape : kShapes) {
        shape.c = c.channels;
        SCOPED_TRACE("height " + std::to_string(shape.h));
        auto samples = random_samples(c.samples, shape.elements());
        Shape network_shape = shape;
        network_shape.c += c.sigma ? 1 : 0;
        std::vector<std::byte> network(network_shape.elements() * size_of(c.network));
        const Conversion conversion{.gain = 0.83F, .sigma = c.sigma ? std::optional(0.1F) : std::nullopt};
        expect_same_in({samples.data(), shape, c.samples, Layout::channels_last, {}},
                       {network.data(), network_shape, c.network, c.layout, {}}, conversion);
    }
}

TEST_P(GpuConvert, OutputEqualsTheCpuBitForBit) {
    const Case c = GetParam();
    if (c.sigma) return;  // the way back has no extra channel
    for (Shape shape : kShapes) {
        shape.c = c.channels;
        SCOPED_TRACE("height " + std::to_string(shape.h));
        // Values between and beyond the samples' steps, in the network's type and layout.
        auto values = random_samples(DType::f32, shape.elements());
        std::vector<std::byte> network(shape.elements() * size_of(c.network));
        Stream cpu{DeviceId{}};
        const BatchView network_view{network.data(), shape, c.network, c.layout, {}};
        samples_to_network({values.data(), shape, DType::f32, Layout::channels_last, {}}, network_view, {}, cpu);
        std::vector<std::byte> samples(shape.elements() * size_of(c.samples));
        expect_same_back(network_view, {samples.data(), shape, c.samples, Layout::channels_last, {}}, {.gain = 0.83F});
    }
}

/// Values of a batch in their type, of which every seventh is infinite.
std::vector<std::byte> partly_infinite(const BatchView& shape_and_type) {
    std::vector<float> values(shape_and_type.shape.elements());
    for (size_t i = 0; i < values.size(); i += 7) values[i] = i % 2 == 0 ? INFINITY : -INFINITY;
    std::vector<std::byte> network(shape_and_type.bytes());
    BatchView there = shape_and_type;
    there.pointer = network.data();
    Stream cpu{DeviceId{}};
    samples_to_network({values.data(), there.shape, DType::f32, Layout::channels_last, {}}, there, {}, cpu);
    return network;
}

/// Counts on the device what the CPU counts.
void expect_same_counts(const BatchView& network, const std::vector<PartCount>& parts) {
    Stream cpu{DeviceId{}};
    Stream cuda{kCuda};
    std::vector<PartCount> expected = parts, counted = parts;
    count_not_finite(network, expected.data(), std::ssize(parts), cpu);
    const DeviceBuffer values(kCuda, network.bytes());
    const DeviceBuffer counts(kCuda, parts.size() * sizeof(PartCount));
    copy_to_device(values.pointer(), network.pointer, network.bytes(), cuda);
    copy_to_device(counts.pointer(), parts.data(), counts.bytes(), cuda);
    count_not_finite(on_device(network, values), reinterpret_cast<PartCount*>(counts.pointer()), std::ssize(parts),
                     cuda);
    copy_to_host(counted.data(), counts.pointer(), counts.bytes(), cuda);
    cuda.synchronise();
    for (size_t i = 0; i < parts.size(); ++i) ASSERT_EQ(counted[i].not_finite, expected[i].not_finite) << i;
}

// Parts of one pixel, of all of an image, and of more pixels than there are threads for a part.
TEST_P(GpuConvert, NotFiniteValuesAreCountedAsOnTheCpu) {
    const Case c = GetParam();
    if (c.sigma || c.samples != DType::u8) return;  // neither matters
    for (const auto& [h, w] : std::vector<Extent>{{1, 1}, {37, 41}, {200, 150}}) {
        BatchView network{nullptr, {3, c.channels, h, w}, c.network, c.layout, {}};
        auto values = partly_infinite(network);
        network.pointer = values.data();
        const Rect all{0, 0, {h, w}}, last{h - 1, w - 1, {1, 1}}, part{h / 3, w / 4, {h - h / 3, w - w / 4}};
        expect_same_counts(network, {{all}, {part}, {last}});
        expect_same_counts(network, {{last}, {all, 5}});
        network.shape.n = 1;
        expect_same_counts(network, {{part}, {all}, {last}, {part}});
    }
}

INSTANTIATE_TEST_SUITE_P(All, GpuConvert, testing::ValuesIn(all_cases()), name);

class GpuConvertOnce : public GpuConvert {};
INSTANTIATE_TEST_SUITE_P(Gray, GpuConvertOnce,
                         testing::Values(Case{DType::u8, DType::f32, Layout::channels_last, 1, true}), name);

TEST_P(GpuConvertOnce, MorePixelsThanThreads) {
    constexpr Shape kShape{1, 1, 4200, 4100};
    auto samples = random_samples(DType::u8, kShape.elements());
    std::vector<float> network(kShape.elements() * 2);
    expect_same_in({samples.data(), kShape, DType::u8, Layout::channels_last, {}},
                   {network.data(), {1, 2, kShape.h, kShape.w}, DType::f32, Layout::channels_last, {}},
                   {.sigma = 0.1F});
}

TEST_P(GpuConvertOnce, EveryU16SurvivesTheRoundTrip) {
    constexpr Shape kShape{1, 1, 256, 256};
    std::vector<std::byte> samples(kShape.elements() * 2);
    for (int64_t i = 0; i < kShape.elements(); ++i) {
        const auto word = static_cast<uint16_t>(i);
        std::memcpy(samples.data() + i * 2, &word, 2);
    }
    Stream stream{kCuda};
    const DeviceBuffer in(kCuda, samples.size());
    const DeviceBuffer middle(kCuda, samples.size() * 2);
    const DeviceBuffer out(kCuda, samples.size());
    upload(in, samples, stream);
    const BatchView network{middle.pointer(), kShape, DType::f32, Layout::channels_last, kCuda};
    samples_to_network({in.pointer(), kShape, DType::u16, Layout::channels_last, kCuda}, network, {}, stream);
    network_to_samples(network, {out.pointer(), kShape, DType::u16, Layout::channels_last, kCuda}, {}, stream);
    EXPECT_EQ(download(out, stream), samples);
}

TEST_P(GpuConvertOnce, NotANumberAndInfinitiesBecomeEnds) {
    constexpr Shape kShape{1, 1, 1, 4};
    const std::vector<float> values{NAN, INFINITY, -INFINITY, -0.0F};
    Stream stream{kCuda};
    const DeviceBuffer in(kCuda, values.size() * sizeof(float));
    const DeviceBuffer out(kCuda, values.size());
    copy_to_device(in.pointer(), values.data(), in.bytes(), stream);
    network_to_samples({in.pointer(), kShape, DType::f32, Layout::channels_last, kCuda},
                       {out.pointer(), kShape, DType::u8, Layout::channels_last, kCuda}, {}, stream);
    EXPECT_EQ(download(out, stream),
              (std::vector<std::byte>{std::byte{0}, std::byte{255}, std::byte{0}, std::byte{0}}));
}

}  // namespace
}  // namespace pb::device
