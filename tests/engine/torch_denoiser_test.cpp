#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"
#include "support/graph_weights.hpp"
#include "support/memory_peaks.hpp"
#include "support/messages.hpp"
#include "support/networks.hpp"
#include "support/standard_weights.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/memory_plan.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace pb::engine {
namespace {

using test::denoise;
using test::input_shape;
using test::output_shape;
using test::random_values;
using test::relative_difference;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kSeed = 7;

std::string name_of_network(const testing::TestParamInfo<network::NetworkKind>& info) {
    return std::string(name_of(info.param));
}

std::vector<float> windows(const Shape& shape) { return random_values(static_cast<size_t>(shape.elements()), kSeed); }

class TorchEngine : public testing::TestWithParam<network::NetworkKind> {
  protected:
    const Weights& weights_ = test::standard_weights(GetParam());
    EngineOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Networks, TorchEngine, testing::ValuesIn(test::all_networks()), name_of_network);

/// `values`, which are channels_last, in `layout`.
std::vector<float> in_layout(const std::vector<float>& values, const Shape& shape, Layout layout) {
    if (layout == Layout::channels_last) return values;
    std::vector<float> ordered;
    for (int64_t n = 0; n < shape.n; ++n)
        for (int64_t c = 0; c < shape.c; ++c)
            for (int64_t pixel = n * shape.h * shape.w; pixel < (n + 1) * shape.h * shape.w; ++pixel)
                ordered.push_back(values[static_cast<size_t>(pixel * shape.c + c)]);
    return ordered;
}

TEST_P(TorchEngine, EqualsTheReferenceInColourAndGrayAndBothLayouts) {
    const EngineOptions reference{.engine = EngineKind::reference};
    for (const int64_t channels : {1, 3}) {
        const Weights weights = make_seeded_weights(GetParam(), channels, kSeed);
        const Shape in = input_shape(weights, 1, 16, 24), out = output_shape(weights, in);
        const auto exact = denoise(*make_denoiser(weights, reference), weights, reference, windows(in), in);
        for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
            const EngineOptions torch{.layout = layout};
            const auto ours =
                denoise(*make_denoiser(weights, torch), weights, torch, in_layout(windows(in), in, layout), in);
            EXPECT_LT(relative_difference(ours, in_layout(exact, out, layout)), 1e-5)
                << channels << " channels, " << name_of(layout);
        }
    }
}

/// Batches of `batch` windows cut from `all`, the last one filled up with window 0.
std::vector<float> denoise_in_batches(Denoiser& denoiser, const Weights& weights, const EngineOptions& options,
                                      const std::vector<float>& all, Shape window, int64_t count, int64_t batch) {
    window.n = 1;
    const auto in_size = static_cast<size_t>(window.elements());
    const auto out_size = static_cast<size_t>(output_shape(weights, window).elements());
    std::vector<float> result;
    for (int64_t first = 0; first < count; first += batch) {
        std::vector<float> values;
        for (int64_t i = first; i < first + batch; ++i) {
            const auto begin = all.begin() + (i < count ? i : 0) * static_cast<int64_t>(in_size);
            values.insert(values.end(), begin, begin + static_cast<int64_t>(in_size));
        }
        window.n = batch;
        const auto outputs = denoise(denoiser, weights, options, values, window);
        result.insert(result.end(), outputs.begin(), outputs.end());
    }
    result.resize(static_cast<size_t>(count) * out_size);
    return result;
}

TEST_P(TorchEngine, GivesTheSameBitsForAnyBatchPlaceAndThreads) {
    constexpr int64_t kCount = 16;
    const Shape all = input_shape(weights_, kCount, 16, 64);
    const auto values = windows(all);
    std::vector<float> first;
    for (const int threads : {1, 2}) {
        const EngineOptions options{.threads = threads};
        const auto denoiser = make_denoiser(weights_, options);
        for (const int64_t batch : {1, 3, 16}) {
            auto result = denoise_in_batches(*denoiser, weights_, options, values, all, kCount, batch);
            if (first.empty()) first = result;
            EXPECT_TRUE(result == first) << "batch " << batch << ", " << threads
                                         << " threads: " << relative_difference(result, first);
        }
    }
}

/// Bytes above weights, input and output at the peak of one forward call.
int64_t activation_peak(const Weights& weights, int64_t h, int64_t w, int threads = 1) {
    const EngineOptions options{.threads = threads};
    const auto denoiser = make_denoiser(weights, options);
    const Shape shape = input_shape(weights, 1, h, w);
    const EngineBuffer in(options.device, static_cast<size_t>(shape.elements()) * sizeof(float));
    const EngineBuffer out(options.device, static_cast<size_t>(shape.elements()) * sizeof(float));
    device::Stream stream(options.device);
    reset_allocator_peaks(options.device);
    const int64_t before = allocator_counters(options.device).allocated_bytes;
    denoiser->forward(test::view_of(in.pointer(), shape, options),
                      test::view_of(out.pointer(), output_shape(weights, shape), options), stream);
    EXPECT_EQ(allocator_counters(options.device).allocated_bytes, before);
    return allocator_counters(options.device).peak_allocated_bytes - before;
}

TEST_P(TorchEngine, PeakOfActivationsGrowsByNoMoreThanTheNetworkNeeds) {
    const double allowed =
        network::network_peaks(network::standard_shape(GetParam(), 3), network::kOnednnPath).front().bytes_per_pixel;
    // Large enough that the peak lies where the maps are largest, not where oneDNN orders the weights of 512 channels.
    const double slope =
        static_cast<double>(activation_peak(weights_, 224, 232) - activation_peak(weights_, 224, 200)) /
        static_cast<double>(224 * 32);
    EXPECT_LE(slope, allowed);
    const double two_maps = 2 * sizeof(float) * network::network_facts(GetParam()).widest_map;
    EXPECT_GE(slope, two_maps);  // less would mean that nothing was counted
    RecordProperty("bytes_per_pixel", static_cast<int>(slope));
}

/// Smaller and larger ones than the standard networks, and DnCNN that ends in every way.
// One of each network.
const std::vector<network::NetworkShape> kRelatives{
    network::DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 1},
    network::DrunetShape{.widths = {16, 24, 32, 40, 48}, .blocks = 2},
    network::DrunetShape{.widths = {8}, .blocks = 3},
    network::UnetShape{.channels = 1, .widths = {8, 20}},
    network::UnetShape{.widths = {8, 16, 24, 32, 40}},
    network::DncnnShape{.depth = 2, .width = 8, .residual = network::DncnnResidual::none},
    network::DncnnShape{.depth = 3, .width = 24, .residual = network::DncnnResidual::add},
    network::DncnnShape{.channels = 1, .depth = 7, .width = 16, .residual = network::DncnnResidual::subtract},
};

TEST(Graphs, EqualTheReference) {
    for (const network::Graph& graph : test::any_graphs(40)) {
        SCOPED_TRACE(network::to_text(graph));
        const Weights weights = test::weights_of(graph, kSeed);
        const int64_t step = network::alignment_of(graph);
        const Shape shape = input_shape(weights, 2, 3 * step, 5 * step);
        const EngineOptions torch, reference{.engine = EngineKind::reference};
        const auto exact = denoise(*make_denoiser(weights, reference), weights, reference, windows(shape), shape);
        const auto ours = denoise(*make_denoiser(weights, torch), weights, torch, windows(shape), shape);
        if (test::max_abs(exact) == 0) continue;  // a map minus itself
        EXPECT_LT(relative_difference(ours, exact), 2e-5);
    }
}

/// What follows from the layers is what is found by trying.
TEST(Graphs, HaveTheCardThatTryingFinds) {
    const network::NetworkCard expected = network::card_of(test::seen_graph());
    EXPECT_EQ(network::to_text(expected), "channels 1, sigma none, range 1, alignment 2, radius 5, halo 6");
    const Weights weights = test::weights_of(test::seen_graph(), kSeed);
    const EngineOptions contiguous{.layout = Layout::contiguous};
    const auto denoiser = make_denoiser(weights, contiguous);
    network::TryWindow run = [&](const network::NetworkCard&, const std::vector<float>& window, const Shape& shape) {
        if (shape.h % 2 != 0 || shape.w % 2 != 0) return network::TrialOutput{{}, "odd extents"};
        return network::TrialOutput{denoise(*denoiser, weights, contiguous, window, shape), ""};
    };
    EXPECT_EQ(network::to_text(network::find_card({{.channels = 1}}, run).card), network::to_text(expected));
    EXPECT_EQ(network::find_range(expected, run).card, expected);
}

TEST(Relatives, EqualTheReference) {
    for (const network::NetworkShape& network : kRelatives) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const Shape shape = input_shape(weights, 2, 32, 48);
        const EngineOptions torch, reference{.engine = EngineKind::reference};
        const auto ours = denoise(*make_denoiser(weights, torch), weights, torch, windows(shape), shape);
        const auto exact = denoise(*make_denoiser(weights, reference), weights, reference, windows(shape), shape);
        EXPECT_LT(relative_difference(ours, exact), 1e-5);
    }
}

TEST(Relatives, TakeTheMemoryThatIsPlanned) {
    for (const network::NetworkShape& network : kRelatives) {
        const network::Graph graph = network::graph_of(network);
        SCOPED_TRACE(network::to_text(graph));
        const int64_t planned = network::peak_bytes(network::plan_memory(graph, network::kOnednnPath), 192 * 256);
        const int64_t taken = activation_peak(make_seeded_weights(network, kSeed), 192, 256);
        constexpr int64_t kOfOnednn = 32 << 10;
        EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(planned), kOfOnednn);
    }
}

TEST_P(TorchEngine, PeakOfActivationsDoesNotGrowWithThreads) {
    const auto one = static_cast<double>(activation_peak(weights_, 128, 128));
    EXPECT_NEAR(static_cast<double>(activation_peak(weights_, 128, 128, 4)), one, 0.01 * one);
}

TEST_P(TorchEngine, RunsOutOfMemoryUnderACapAndRecovers) {
    const Shape shape = input_shape(weights_, 2, 64, 64);
    const auto denoiser = make_denoiser(weights_, options_);
    const auto expected = denoise(*denoiser, weights_, options_, windows(shape), shape);
    const int64_t held = allocator_counters(options_.device).allocated_bytes;
    for (const int64_t room : {1, 1 << 20, 3 << 20}) {
        set_memory_limit(options_.device, held + room);
        EXPECT_THAT(error_of<OutOfMemory>([&] { (void)denoise(*denoiser, weights_, options_, windows(shape), shape); }),
                    AllOf(HasSubstr("under the cap of"), Not(HasSubstr("\n"))))
            << room << " bytes to spare";
        EXPECT_EQ(allocator_counters(options_.device).allocated_bytes, held);
    }
    set_memory_limit(options_.device, 0);
    EXPECT_TRUE(denoise(*denoiser, weights_, options_, windows(shape), shape) == expected);
}

TEST_P(TorchEngine, RefusesSamplesBeyondTheIndexLimit) {
    const auto denoiser = make_denoiser(weights_, options_);
    const auto widest = static_cast<int64_t>(network::network_facts(GetParam()).widest_map);
    const int64_t edge = round_up((int64_t{1} << 31) / widest / 1024, 8);
    float nowhere = 0;  // the limit is found before a pixel is touched
    device::Stream stream(options_.device);
    for (const Shape& shape : {input_shape(weights_, 1, 1024, edge), input_shape(weights_, 1, edge, 1024)}) {
        const auto in = test::view_of(&nowhere, shape, options_);
        const auto out = test::view_of(&nowhere, output_shape(weights_, shape), options_);
        EXPECT_THROW(denoiser->forward(in, out, stream), IndexLimit);
        EXPECT_THROW(denoiser->prepare(in, out, stream), IndexLimit);
    }
}

TEST_P(TorchEngine, RefusesViewsThatDoNotFit) {
    const auto denoiser = make_denoiser(weights_, options_);
    std::vector<float> values(16 * 16 * 4 * 2);
    device::Stream stream(options_.device);
    const auto good_in = test::view_of(values.data(), input_shape(weights_, 1, 16, 16), options_);
    const auto good_out = test::view_of(values.data(), output_shape(weights_, good_in.shape), options_);
    const auto refused = [&](auto change) {
        BatchView in = good_in, out = good_out;
        change(in, out);
        EXPECT_THROW(denoiser->forward(in, out, stream), Error);
    };
    refused([](auto& in, auto&) { in.pointer = nullptr; });
    refused([](auto& in, auto&) { in.shape.c += 1; });
    refused([](auto&, auto& out) { out.shape.n = 2; });
    refused([](auto&, auto& out) { out.shape.h = 8; });
    refused([](auto& in, auto&) { in.dtype = DType::u8; });
    refused([](auto&, auto& out) { out.layout = Layout::contiguous; });
    refused([](auto& in, auto&) { in.device = {DeviceKind::cuda, 0}; });
    const int64_t alignment = network::network_facts(GetParam()).alignment;
    if (alignment > 1) refused([&](auto& in, auto& out) { in.shape.w = out.shape.w = 16 - alignment / 2; });
}

TEST(TorchEngineOptions, PrecisionsThatTheCpuLacksAreRefusedWithTheWayOut) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    for (const Precision precision : {Precision::fp16, Precision::tf32})
        EXPECT_THAT(usage_error([&] { (void)make_denoiser(weights, {.precision = precision}); }),
                    HasSubstr("choose fp32 or bf16"))
            << name_of(precision);
}

TEST(TorchEngineOptions, NoThreadsAreRefused) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    EXPECT_THROW((void)make_denoiser(weights, {.threads = 0}), Error);
}

/// bf16 bits of a float, rounded to nearest even.
uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

TEST_P(TorchEngine, Bf16IsNearFp32OnAnyProcessor) {
    const EngineOptions bf16{.precision = Precision::bf16};
    const auto denoiser = make_denoiser(weights_, bf16);
    const Shape shape = input_shape(weights_, 2, 32, 32);
    const auto values = windows(shape);
    std::vector<uint16_t> in(values.size()), out(static_cast<size_t>(output_shape(weights_, shape).elements()));
    std::transform(values.begin(), values.end(), in.begin(), to_bf16);
    device::Stream stream(bf16.device);
    denoiser->forward(test::view_of(in.data(), shape, bf16),
                      test::view_of(out.data(), output_shape(weights_, shape), bf16), stream);
    std::vector<float> ours(out.size());
    std::transform(out.begin(), out.end(), ours.begin(), from_bf16);
    const auto exact = denoise(*make_denoiser(weights_, options_), weights_, options_, values, shape);
    EXPECT_LT(relative_difference(ours, exact), 0.05);  // 8 bits of mantissa through up to 80 layers
    EXPECT_GT(relative_difference(ours, exact), 1e-4);  // and no fp32 in disguise
}

TEST(TorchEngineOptions, CudaWithoutADeviceIsAUsageError) {
    if (!device::visible_cuda_devices().empty()) GTEST_SKIP() << "this machine has a CUDA device";
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    EXPECT_THROW((void)make_denoiser(weights, {.device = {DeviceKind::cuda, 0}}), UsageError);
}

TEST(TorchEngineOptions, MissingWeightsAreNamed) {
    Weights weights = make_seeded_weights(network::kind_of<network::DrunetShape>(), 1, kSeed);
    weights.convolutions.erase("m_up2.3.res.2");
    EXPECT_THAT(error_of<Error>([&] { (void)make_denoiser(weights, {}); }), HasSubstr("m_up2.3.res.2"));
}

TEST(EngineVersions, LoadedLibrariesAreThoseCompiledAgainst) {
    const auto versions = engine_versions();
    ASSERT_GE(versions.size(), 2U);
    for (const auto& version : versions) EXPECT_EQ(version.loaded, version.header) << version.library;
}

}  // namespace
}  // namespace pb::engine
