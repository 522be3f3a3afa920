// What each network gives for known weights and pixels, in both engines: numbers that neither engine made. Those in
// golden_outputs.txt are deepinv's, in double precision (tests/peer/golden.py writes them, and compares them wherever
// deepinv is installed): mean, root mean square and samples of the output. A block or a skip that is left out of a
// network changes them by at least fifty times what is allowed here.
#include "device/convert.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

namespace pb::engine {
namespace {

constexpr uint64_t kSeed = 7;
constexpr Extent kExtent{32, 40};
constexpr size_t kNumSamples = 16;
constexpr float kSigma = 0.1F;
/// Of the largest sample; fp32 through up to 80 layers, with whatever instructions the processor has.
constexpr double kAllowed = 2e-5;

struct Figures {
    double mean = 0, root_mean_square = 0;
    std::vector<double> samples;
};

struct Golden {
    network::NetworkKind kind = network::kind_of<network::DrunetShape>();
    int64_t channels = 0;
    Figures figures;
};

std::vector<Golden> golden_outputs() {
    std::ifstream file(GOLDEN_OUTPUTS);
    std::vector<Golden> all;
    for (std::string network; file >> network;) {
        Golden& golden = all.emplace_back();
        golden.kind = parse_enum<network::NetworkKind>(network);
        golden.figures.samples.resize(kNumSamples);
        file >> golden.channels >> golden.figures.mean >> golden.figures.root_mean_square;
        for (double& sample : golden.figures.samples) file >> sample;
    }
    return all;
}

/// Value `index` of a window in the order channel, row, column.
size_t place_of(size_t index, const Shape& shape, Layout layout) {
    if (layout == Layout::contiguous) return index;
    const auto pixels = static_cast<size_t>(shape.pixels());
    return index % pixels * static_cast<size_t>(shape.c) + index / pixels;
}

Figures figures_of(const std::vector<float>& output, const Shape& shape, Layout layout) {
    Figures figures;
    const auto count = static_cast<double>(output.size());
    figures.mean = std::accumulate(output.begin(), output.end(), 0.0) / count;
    figures.root_mean_square = std::sqrt(std::inner_product(output.begin(), output.end(), output.begin(), 0.0) / count);
    for (size_t i = 0; i < kNumSamples; ++i)
        figures.samples.push_back(output[place_of(i * (output.size() - 1) / (kNumSamples - 1), shape, layout)]);
    return figures;
}

/// The network's output for a window of random pixels, converted as in a run.
Figures run(const Golden& golden, const EngineOptions& options) {
    const Weights weights = make_seeded_weights(golden.kind, golden.channels, kSeed);
    const Shape samples_shape{1, golden.channels, kExtent.h, kExtent.w};
    const Shape shape = test::input_shape(weights, 1, kExtent.h, kExtent.w);
    auto samples = test::random_values(static_cast<size_t>(samples_shape.elements()), kSeed);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    const device::Conversion conversion{.sigma = network::network_facts(golden.kind).takes_sigma ? std::optional(kSigma)
                                                                                                 : std::nullopt};
    device::Stream stream(options.device);
    device::samples_to_network({.pointer = samples.data(), .shape = samples_shape, .layout = Layout::channels_last},
                               test::view_of(values.data(), shape, options), conversion, stream);
    const auto output = test::denoise(*make_denoiser(weights, options), weights, options, values, shape);
    return figures_of(output, samples_shape, options.layout);
}

void expect_near(const Figures& figures, const Figures& expected) {
    double largest = 0;
    for (const double sample : expected.samples) largest = std::max(largest, std::abs(sample));
    const double allowed = kAllowed * largest;
    EXPECT_NEAR(figures.mean, expected.mean, allowed);
    EXPECT_NEAR(figures.root_mean_square, expected.root_mean_square, allowed);
    for (size_t i = 0; i < kNumSamples; ++i)
        EXPECT_NEAR(figures.samples[i], expected.samples[i], allowed) << "sample " << i;
}

TEST(GoldenOutputsOfPublishedNetworks, AreThoseOfTheTorchEngineInBothLayouts) {
    const auto all = golden_outputs();
    ASSERT_EQ(all.size(), 2 * enum_table<network::NetworkKind>().size()) << GOLDEN_OUTPUTS;  // gray and colour
    for (const Golden& golden : all)
        for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
            SCOPED_TRACE(std::string(name_of(golden.kind)) + " " + std::to_string(golden.channels));
            expect_near(run(golden, {.layout = layout}), golden.figures);
        }
}

TEST(GoldenOutputsOfPublishedNetworks, AreThoseOfTheReferenceEngine) {
    for (const Golden& golden : golden_outputs()) {
        SCOPED_TRACE(std::string(name_of(golden.kind)) + " " + std::to_string(golden.channels));
        expect_near(run(golden, {.engine = EngineKind::reference}), golden.figures);
    }
}

}  // namespace
}  // namespace pb::engine
