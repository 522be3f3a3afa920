#include "engine/engines.hpp"
#include "network/native_layout.hpp"
#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"
#include "support/graph_weights.hpp"
#include "support/instruction_sets.hpp"
#include "support/messages.hpp"
#include "support/standard_weights.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

namespace pb::engine {
namespace {

using test::denoise;
using test::input_shape;
using test::OnTarget;
using test::output_shape;
using test::random_values;
using test::relative_difference;
using test::targets;
using testing::HasSubstr;

constexpr uint64_t kSeed = 7;
const EngineOptions kNative{.engine = EngineKind::native};
const EngineOptions kSmallTiles{.engine = EngineKind::native, .winograd_tile = 2};
const EngineOptions kBf16{.engine = EngineKind::native, .precision = Precision::bf16};
/// By the size of Winograd's tiles.
const std::vector<EngineOptions> kTiles{kNative, kSmallTiles};

/// All forms of Winograd's method that this processor can compute.
std::vector<EngineOptions> forms() {
    std::vector<EngineOptions> forms = kTiles;
    if (native_multiplies_bf16()) forms.push_back(kBf16);
    return forms;
}

network::WinogradForm form_of(const EngineOptions& options) {
    return network::winograd_form(options.winograd_tile, options.precision);
}

std::string text_of(const EngineOptions& options) {
    return std::string(name_of(options.precision)) + ", tiles of " + std::to_string(form_of(options).tile);
}
const EngineOptions kReference{.engine = EngineKind::reference};

std::vector<float> windows(const Shape& shape) { return random_values(static_cast<size_t>(shape.elements()), kSeed); }

std::vector<float> run(const Weights& weights, const EngineOptions& options, const Shape& shape) {
    return denoise(*make_denoiser(weights, options), weights, options, windows(shape), shape);
}

std::vector<float> run(const Weights& weights, const EngineOptions& options, int64_t n, int64_t h, int64_t w) {
    return run(weights, options, input_shape(weights, n, h, w));
}

/// Root of the mean square of the difference, over that of `exact`.
double rms_error(const std::vector<float>& values, const std::vector<float>& exact) {
    double error = 0, square = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
        error += std::pow(static_cast<double>(values[i]) - exact[i], 2);
        square += std::pow(static_cast<double>(exact[i]), 2);
    }
    return std::sqrt(error / square);
}

int64_t winograd_layers(const network::Graph& graph) {
    const auto layers = network::convolutions_of(graph);
    return std::ranges::count_if(layers, [&](size_t layer) {
        return network::native_convolution(graph, layer).method() == network::NativeMethod::winograd;
    });
}

/// The largest rms_error() that rounding explains. A value of bf16 has 8 significant bits: rounding errs by up to 2^-8
/// of it, 1.7e-3 in the root mean square over all mantissas. Both factors of a product are rounded: 2.4e-3. The
/// products of F(2x2, 3x3) for one pixel have 25/9 of the mean square of their sum, if operands and weights are random
/// (along an axis 2 * (1 + 3/4 + 3/4) = 5 instead of 3), which makes it 5/3 times as much: 3.9e-3 for a layer. Errors
/// of layers add up in the root mean square. That rounding down would double the error shows in it.
double largest_error(const EngineOptions& options, const network::Graph& graph) {
    constexpr double kOfFp32 = 3e-6, kOfLayerInBf16 = 3.9e-3;
    if (options.precision != Precision::bf16) return kOfFp32;
    return kOfFp32 + kOfLayerInBf16 * std::sqrt(static_cast<double>(winograd_layers(graph)));
}

/// Networks in which every kernel runs, with and without channels that fill vectors and panels.
// One of each network.
const std::vector<network::NetworkShape> kShapes{
    network::DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 1},
    network::DrunetShape{.widths = {16, 24, 32, 40, 48}, .blocks = 2},
    network::DrunetShape{.widths = {32, 64, 96}, .blocks = 1},
    network::DrunetShape{.widths = {64}, .blocks = 2},
    network::UnetShape{.channels = 1, .widths = {8, 20}},
    network::UnetShape{.widths = {32, 64, 32}},
    network::UnetShape{.widths = {16, 48, 32, 64}},
    network::UnetShape{.widths = {18, 33, 22}},
    network::DncnnShape{.depth = 2, .width = 8, .residual = network::DncnnResidual::none},
    network::DncnnShape{.depth = 3, .width = 24, .residual = network::DncnnResidual::add},
    network::DncnnShape{.channels = 1, .depth = 4, .width = 32, .residual = network::DncnnResidual::subtract},
    network::DncnnShape{.channels = 4, .depth = 3, .width = 64},
    network::DncnnShape{.channels = 32, .depth = 3, .width = 32, .residual = network::DncnnResidual::none},
    network::DncnnShape{.channels = 5, .depth = 3, .width = 96},
    network::DncnnShape{.channels = 17, .depth = 3, .width = 33, .residual = network::DncnnResidual::add},
    network::DrunetShape{.widths = {17, 37, 60}, .blocks = 1},
};

TEST(NativeEngine, EqualsTheReferenceForAnyShapeOnEveryInstructionSet) {
    for (const network::NetworkShape& network : kShapes) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const auto exact = run(weights, kReference, 1, 48, 32);
        for (const int64_t target : targets()) {
            const OnTarget on(target);
            for (const EngineOptions& native : forms())
                EXPECT_LT(rms_error(run(weights, native, 1, 48, 32), exact), largest_error(native, weights.graph()))
                    << hwy::TargetName(target) << ", " << text_of(native);
        }
    }
}

TEST(NativeEngine, EqualsTheReferenceForAnyGraph) {
    for (const network::Graph& graph : test::any_graphs(40)) {
        SCOPED_TRACE(network::to_text(graph));
        const Weights weights = test::weights_of(graph, kSeed);
        const int64_t step = network::alignment_of(graph);
        const auto exact = run(weights, kReference, 2, 3 * step, 5 * step);
        if (test::max_abs(exact) == 0) continue;  // a map minus itself
        EXPECT_LT(relative_difference(run(weights, kNative, 2, 3 * step, 5 * step), exact), 2e-5);
        if (!native_multiplies_bf16()) continue;
        EXPECT_LT(rms_error(run(weights, kBf16, 2, 3 * step, 5 * step), exact), largest_error(kBf16, graph));
    }
}

TEST(NativeEngine, EqualsTheReferenceForWideGraphs) {
    for (const network::Graph& graph : test::wide_graphs(20)) {
        SCOPED_TRACE(network::to_text(graph));
        const Weights weights = test::weights_of(graph, kSeed);
        const int64_t step = network::alignment_of(graph);
        const auto exact = run(weights, kReference, 1, 3 * step, 5 * step);
        if (test::max_abs(exact) == 0) continue;  // a map minus itself
        EXPECT_LT(relative_difference(run(weights, kNative, 1, 3 * step, 5 * step), exact), 2e-5);
    }
}

/// A convolution of a concatenation, as the output alone or in front of the concatenation, which then is a map.
network::Graph joined_convolution(int64_t a, int64_t b, bool is_stored) {
    network::GraphBuilder net;
    const size_t image = net.input(3);
    const size_t first = net.convolve(image, a, {.weights = "a"}), second = net.convolve(image, b, {.weights = "b"});
    const size_t both = net.concatenate(first, second);
    const size_t last = net.convolve(both, 32, {.weights = "last"});
    if (is_stored) net.concatenate(last, both);
    return net.graph();
}

TEST(NativeEngine, ReadsTheOperandsOfAConcatenationWithTheBitsOfItsMap) {
    for (const auto& [a, b] : {std::pair{16, 16}, {32, 64}, {18, 50}, {96, 20}})
        for (const int64_t target : targets())
            for (const EngineOptions& native : forms()) {
                const OnTarget on(target);
                if (native.precision == Precision::bf16 && !native_multiplies_bf16()) continue;
                const Weights joined = test::weights_of(joined_convolution(a, b, false), kSeed);
                Weights stored = test::weights_of(joined_convolution(a, b, true), kSeed);
                stored.convolutions = joined.convolutions;
                const auto values = run(joined, native, 2, 13, 22), all = run(stored, native, 2, 13, 22);
                for (size_t pixel = 0; pixel < values.size() / 32; ++pixel)
                    ASSERT_TRUE(std::equal(values.begin() + pixel * 32, values.begin() + (pixel + 1) * 32,
                                           all.begin() + pixel * (32 + a + b)))
                        << a << " + " << b << ", " << text_of(native) << ", " << hwy::TargetName(target);
            }
}

/// One convolution whose values are small integers at each point of Winograd's method: operands up to 4 become up to
/// 16, weights that are multiples of 4 become integers up to 18. bf16 has them all, and fp32 their sums.
Weights integer_convolution(int64_t channels_in, int64_t channels_out) {
    network::GraphBuilder net;
    net.convolve(net.input(channels_in), channels_out, {.weights = "only", .has_bias = true});
    Weights weights = test::weights_of(net.graph(), kSeed);
    Convolution& only = weights.convolutions.begin()->second;
    const auto whole = [](float scale) { return [scale](float& value) { value = std::round(scale * value); }; };
    std::ranges::for_each(only.bias, whole(100));
    const float most = *std::ranges::max_element(only.weight);
    for (float& value : only.weight) value = 4 * std::round(2 * value / most);
    return weights;
}

TEST(NativeEngine, ComputesSmallIntegersExactlyInBf16) {
    if (!native_multiplies_bf16()) GTEST_SKIP() << "this processor has no AVX512-BF16";
    for (const auto& [channels_in, channels_out] : {std::pair{16, 32}, {48, 96}, {64, 64}, {512, 32}})
        for (const auto& [h, w] : {std::pair{1, 1}, {5, 7}, {16, 34}, {23, 160}}) {
            SCOPED_TRACE(testing::Message() << channels_in << " to " << channels_out << ", " << h << " x " << w);
            const Weights weights = integer_convolution(channels_in, channels_out);
            const Shape shape = input_shape(weights, 2, h, w);
            auto values = windows(shape);
            for (float& value : values) value = std::round(8 * value - 4);
            const auto exact = denoise(*make_denoiser(weights, kReference), weights, kReference, values, shape);
            EXPECT_TRUE(denoise(*make_denoiser(weights, kBf16), weights, kBf16, values, shape) == exact);
        }
}

TEST(NativeEngine, RoundsInBf16WhatWinogradsMethodMultipliesAndNothingElse) {
    if (!native_multiplies_bf16()) GTEST_SKIP() << "this processor has no AVX512-BF16";
    for (const network::NetworkShape& network : kShapes) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const bool is_same = run(weights, kBf16, 1, 32, 32) == run(weights, kNative, 1, 32, 32);
        EXPECT_EQ(is_same, winograd_layers(weights.graph()) == 0);
    }
}

TEST(NativeEngine, RefusesBf16WhereTheProcessorCannotMultiplyIt) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, kSeed);
    const OnTarget on(HWY_STATIC_TARGET);
    EXPECT_FALSE(native_multiplies_bf16());
    EXPECT_THAT(usage_error([&] { (void)make_denoiser(weights, kBf16); }),
                testing::AllOf(HasSubstr("dtype = bf16"), HasSubstr("AVX512-BF16")));
}

TEST(NativeEngine, TakesExtentsThatAreNoMultipleOfATile) {
    const Weights chain = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, kSeed);
    const Weights scales = make_seeded_weights(network::DrunetShape{.widths = {16, 32, 48}, .blocks = 1}, kSeed);
    for (const int64_t h : {1, 2, 3, 5, 6, 7, 17})
        for (const int64_t w : {1, 4, 5, 9, 15, 30}) {
            const std::string extents = std::to_string(h) + " x " + std::to_string(w);
            const auto of_chain = run(chain, kReference, 2, h, w), of_scales = run(scales, kReference, 1, 4 * h, 4 * w);
            for (const EngineOptions& native : kTiles) {
                EXPECT_LT(rms_error(run(chain, native, 2, h, w), of_chain), 3e-6) << extents;
                EXPECT_LT(rms_error(run(scales, native, 1, 4 * h, 4 * w), of_scales), 3e-6) << extents << " times 4";
            }
        }
}

class NativeNetworks : public testing::TestWithParam<network::NetworkKind> {
  protected:
    const Weights& weights_ = test::standard_weights(GetParam());
};

// One of each network.
INSTANTIATE_TEST_SUITE_P(Networks, NativeNetworks,
                         testing::Values(network::kind_of<network::DrunetShape>(),
                                         network::kind_of<network::UnetShape>(),
                                         network::kind_of<network::DncnnShape>()),
                         [](const auto& network) { return std::string(name_of(network.param)); });

TEST_P(NativeNetworks, ErrsNoMoreThanDirectConvolutions) {
    const Shape shape = input_shape(weights_, 1, 40, 56);
    const auto exact = run(weights_, kReference, shape);
    const EngineOptions torch_bf16{.precision = Precision::bf16};
    const double of_torch = rms_error(run(weights_, {}, shape), exact);
    const double of_bf16 = rms_error(
        test::denoise_bf16(*make_denoiser(weights_, torch_bf16), weights_, torch_bf16, windows(shape), shape), exact);
    for (const EngineOptions& native : forms()) {
        const bool is_bf16 = native.precision == Precision::bf16;
        const double ours = rms_error(run(weights_, native, shape), exact), theirs = is_bf16 ? of_bf16 : of_torch;
        RecordProperty((is_bf16 ? "bf16_" : "tile_") + std::to_string(form_of(native).tile),
                       std::to_string(ours * 1e6) + ", torch " + std::to_string(theirs * 1e6));
        EXPECT_LE(ours, 1.2 * theirs) << text_of(native);
    }
}

/// The shape.n windows of `values` from number `first` on, as a batch.
std::vector<float> run_some(Denoiser& denoiser, const Weights& weights, const std::vector<float>& values, Shape shape,
                            int64_t first) {
    const int64_t size = shape.elements();
    const std::vector<float> some(values.begin() + first * (size / shape.n),
                                  values.begin() + first * (size / shape.n) + size);
    return denoise(denoiser, weights, kNative, some, shape);
}

void expect_same_bits_for_any_batch_place_and_threads(const Weights& weights, EngineOptions options) {
    constexpr int64_t kCount = 4;
    const Shape all = input_shape(weights, kCount, 16, 24);
    const auto values = windows(all);
    std::vector<float> first;
    for (const int threads : {1, 2, 7}) {
        options.threads = threads;
        const auto denoiser = make_denoiser(weights, options);
        for (const int64_t batch : {1, 2, 4}) {
            std::vector<float> result;
            for (int64_t begin = 0; begin < kCount; begin += batch) {
                const auto some = run_some(*denoiser, weights, values, input_shape(weights, batch, 16, 24), begin);
                result.insert(result.end(), some.begin(), some.end());
            }
            if (first.empty()) first = result;
            EXPECT_TRUE(result == first) << "batch " << batch << ", " << threads << " threads";
        }
    }
}

TEST_P(NativeNetworks, GivesTheSameBitsForAnyBatchPlaceAndThreads) {
    expect_same_bits_for_any_batch_place_and_threads(weights_, kNative);
}

TEST(NativeEngine, GivesTheSameBitsInAnyFormForAnyBatchPlaceAndThreads) {
    for (const network::NetworkShape& network : {network::NetworkShape{network::DncnnShape{.depth = 4, .width = 64}},
                                                 {network::DrunetShape{.widths = {32, 64, 96}, .blocks = 1}}})
        for (const EngineOptions& native : forms())
            expect_same_bits_for_any_batch_place_and_threads(make_seeded_weights(network, kSeed), native);
}

TEST(NativeEngine, GivesTheSameBitsForMapsThatAreWrittenPastTheCache) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 64}, kSeed);
    const auto values = windows(input_shape(weights, 9, 64, 64));  // maps of 9 MiB; of one window 1 MiB
    for (const int64_t target : targets()) {
        const OnTarget on(target);
        for (const EngineOptions& native : forms()) {
            const auto denoiser = make_denoiser(weights, native);
            const auto together = run_some(*denoiser, weights, values, input_shape(weights, 9, 64, 64), 0);
            const auto last = run_some(*denoiser, weights, values, input_shape(weights, 1, 64, 64), 8);
            EXPECT_TRUE(std::equal(last.begin(), last.end(), together.end() - static_cast<int64_t>(last.size())))
                << hwy::TargetName(target) << ", " << text_of(native);
        }
    }
}

/// Rows from `begin` on. `shape`: of the window; images of this network have as many channels in as out.
std::vector<float> rows_from(const std::vector<float>& values, const Shape& shape, int64_t begin) {
    return {values.begin() + begin * shape.w * shape.c, values.end()};
}

// Rounding in a tile depends on all of its 6 x 6 (or 4 x 4) operands: a Winograd layer changes the bits of whole tiles
// beside the border of a window, and its values by no more than rounding beyond its radius.
TEST(NativeEngine, EqualsTheWholeImageInWindowsAndBitForBitWhereTheyBeginOnATile) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, kSeed);
    const Shape whole = input_shape(weights, 1, 40, 24);
    const auto values = windows(whole);
    for (const EngineOptions& native : forms()) {
        const auto expected = run(weights, native, whole);
        const int64_t tile = form_of(native).tile;
        const double rounding = native.precision == Precision::bf16 ? 3e-2 : 1e-5;
        const auto part = [&](int64_t begin, int64_t rows) {
            const Shape shape = input_shape(weights, 1, whole.h - begin, whole.w);
            const auto result =
                denoise(*make_denoiser(weights, native), weights, native, rows_from(values, whole, begin), shape);
            return rows_from(result, shape, rows);
        };
        const int64_t same_bits = 1 + tile;  // a row at either end of the chain, of which one is in the tile between
        for (const int64_t begin : {tile, 2 * tile, 5 * tile})
            EXPECT_TRUE(part(begin, same_bits) == rows_from(expected, whole, begin + same_bits)) << begin;
        constexpr int64_t kRadius = 3;
        for (const int64_t begin : {1, 4, 6, 15})
            EXPECT_LT(relative_difference(part(begin, kRadius), rows_from(expected, whole, begin + kRadius)), rounding)
                << begin;
    }
}

TEST(NativeEngine, AValueThatIsNotFiniteStaysSo) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 4, .width = 32}, kSeed);
    const Shape shape = input_shape(weights, 1, 24, 24);
    for (const float value : {std::nanf(""), HUGE_VALF}) {
        auto values = windows(shape);
        const size_t at = values.size() / 2;
        values[at] = value;
        for (const EngineOptions& native : forms())
            EXPECT_FALSE(std::isfinite(denoise(*make_denoiser(weights, native), weights, native, values, shape)[at]));
    }
}

TEST_P(NativeNetworks, TakesTheMemoryThatIsPlanned) {
    const network::Graph graph = network::graph_of(weights_.shape);
    std::vector<EngineOptions> all = forms();
    all.push_back(kNative);
    for (size_t i = 0; i < all.size(); ++i) {
        EngineOptions options = all[i];
        options.threads = static_cast<int>(i) + 1;
        const int64_t before = allocator_counters({}).allocated_bytes;
        const auto denoiser = make_denoiser(weights_, options);
        const int64_t held = allocator_counters({}).allocated_bytes;
        EXPECT_EQ(held - before, network::native_weight_bytes(graph, form_of(options)));
        reset_allocator_peaks({});
        const Shape shape = input_shape(weights_, 2, 16, 24);
        const auto values = windows(shape);
        (void)denoise(*denoiser, weights_, options, values, shape);
        const int64_t arena =
            network::place_blocks(network::plan_memory(graph, network::kNativePath), shape.pixels()).bytes;
        EXPECT_EQ(allocator_counters({}).peak_allocated_bytes - held,
                  arena + options.threads * network::native_scratch_bytes(graph, form_of(options)));
        EXPECT_EQ(allocator_counters({}).allocated_bytes, held);
    }
}

TEST(NativeEngine, RunsOutOfMemoryUnderACapAndRecovers) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, kSeed);
    const Shape shape = input_shape(weights, 1, 64, 64);
    const auto denoiser = make_denoiser(weights, kNative);
    const auto expected = denoise(*denoiser, weights, kNative, windows(shape), shape);
    set_memory_limit({}, allocator_counters({}).allocated_bytes + (1 << 20));
    EXPECT_THAT(error_of<OutOfMemory>([&] { (void)denoise(*denoiser, weights, kNative, windows(shape), shape); }),
                HasSubstr("under the cap of"))
        << "two maps of 64 x 64 x 32 need 1 MiB, and the scratch memory more";
    set_memory_limit({}, 0);
    EXPECT_TRUE(denoise(*denoiser, weights, kNative, windows(shape), shape) == expected);
}

/// Blocks as several processes would find them.
class Blocks final : public SharedBlocks {
  public:
    [[nodiscard]] std::shared_ptr<const std::byte> find(const std::string& name, size_t bytes,
                                                        const Fill& fill) override {
        auto& block = blocks_[name];
        if (!block) {
            block = std::make_shared<std::vector<float>>(bytes / sizeof(float));
            fill(std::as_writable_bytes(std::span(*block)));
        }
        return {block, reinterpret_cast<const std::byte*>(block->data())};
    }
    [[nodiscard]] size_t size() const { return blocks_.size(); }
    /// Of the only block.
    [[nodiscard]] std::vector<float>& values() { return *blocks_.begin()->second; }

  private:
    std::map<std::string, std::shared_ptr<std::vector<float>>> blocks_;
};

EngineOptions sharing(EngineOptions options, const std::shared_ptr<Blocks>& blocks, const Weights& weights) {
    options.shared = {.blocks = blocks, .num_processes = 3, .digest = sha256_of_values(weights)};
    return options;
}

TEST(NativeEngine, SharedWeightsGiveTheSameBitsAndArePackedOnce) {
    for (const network::NetworkShape& network : kShapes) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed), others = make_seeded_weights(network, kSeed + 1);
        for (const EngineOptions& native : forms()) {
            const auto blocks = std::make_shared<Blocks>();
            const auto alone = run(weights, native, 1, 16, 32);
            EXPECT_TRUE(run(weights, sharing(native, blocks, weights), 1, 16, 32) == alone);
            EXPECT_TRUE(run(weights, sharing(native, blocks, weights), 1, 16, 32) == alone);
            EXPECT_EQ(blocks->size(), 1U);
            std::fill(blocks->values().begin(), blocks->values().end(), 0.F);
            EXPECT_FALSE(run(weights, sharing(native, blocks, weights), 1, 16, 32) == alone) << "packed once more";
            (void)make_denoiser(others, sharing(native, blocks, others));
            EXPECT_EQ(blocks->size(), 2U) << "other weights";
        }
    }
    const auto blocks = std::make_shared<Blocks>();
    const Weights weights = make_seeded_weights(kShapes.back(), kSeed);
    for (const EngineOptions& native : forms()) (void)make_denoiser(weights, sharing(native, blocks, weights));
    EXPECT_EQ(blocks->size(), forms().size()) << "other tiles, other values";
}

TEST(NativeEngine, CountsItsPartOfSharedWeights) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, kSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const int64_t whole = network::native_weight_bytes(graph, {}), part = network::native_weight_bytes(graph, {}, 3);
    EXPECT_EQ(part, (whole + 2) / 3);
    const auto blocks = std::make_shared<Blocks>();
    const EngineOptions options = sharing(kNative, blocks, weights);
    const int64_t before = allocator_counters({}).allocated_bytes;
    set_memory_limit({}, before + part - 1);
    EXPECT_THROW((void)make_denoiser(weights, options), OutOfMemory);
    EXPECT_EQ(blocks->size(), 0U) << "nothing is packed that cannot be used";
    set_memory_limit({}, before + part);
    {
        const auto denoiser = make_denoiser(weights, options);
        EXPECT_EQ(allocator_counters({}).allocated_bytes, before + part);
    }
    set_memory_limit({}, 0);
    EXPECT_EQ(allocator_counters({}).allocated_bytes, before);
}

TEST(NativeEngine, RefusesWhatItCannotComputeAndNamesTheWayOut) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    const auto refusal = [&](EngineOptions options) {
        options.engine = EngineKind::native;
        return usage_error([&] { (void)make_denoiser(weights, options); });
    };
    EXPECT_THAT(refusal({.device = {DeviceKind::cuda, 0}}), HasSubstr("choose device: cpu"));
    for (const Precision precision : {Precision::fp16, Precision::tf32})
        EXPECT_THAT(refusal({.precision = precision}), HasSubstr("choose dtype: fp32"));
    EXPECT_THAT(refusal({.layout = Layout::contiguous}), HasSubstr("channels_last only"));
    EXPECT_THROW((void)make_denoiser(weights, {.engine = EngineKind::native, .winograd_tile = 3}), Error);
}

TEST(NativeEngine, RefusesViewsThatDoNotFit) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    const auto denoiser = make_denoiser(weights, kNative);
    std::vector<float> values(16 * 16 * 2);
    device::Stream stream({});
    const auto in = test::view_of(values.data(), input_shape(weights, 1, 16, 16), kNative);
    auto out = test::view_of(values.data() + 256, output_shape(weights, in.shape), kNative);
    out.shape.h = 8;
    EXPECT_THROW(denoiser->forward(in, out, stream), Error);
    EXPECT_THROW(denoiser->prepare(in, out, stream), Error);
    const auto right = test::view_of(values.data() + 256, output_shape(weights, in.shape), kNative);
    auto narrow = in, nowhere = in, low = in;
    narrow.shape.c = 0;
    nowhere.pointer = nullptr;
    low.dtype = DType::bf16;
    for (const auto& wrong : {narrow, nowhere, low}) EXPECT_THROW(denoiser->forward(wrong, right, stream), Error);
}

TEST(NativeEngine, RefusesExtentsThatItsNetworkCannotHalve) {
    const Weights weights = make_seeded_weights(network::UnetShape{.channels = 1, .widths = {4, 6}}, kSeed);
    const auto denoiser = make_denoiser(weights, kNative);
    std::vector<float> values(16 * 16 * 2);
    device::Stream stream({});
    for (const Extent extent : {Extent{16, 15}, Extent{15, 16}}) {
        const auto in = test::view_of(values.data(), input_shape(weights, 1, extent.h, extent.w), kNative);
        const auto out = test::view_of(values.data() + 256, output_shape(weights, in.shape), kNative);
        EXPECT_THROW(denoiser->forward(in, out, stream), Error);
    }
}

TEST(NativeEngine, SaysWhatItRoundsInBf16) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, 1);
    EXPECT_EQ(make_denoiser(weights, {.engine = EngineKind::native})->remark(), "");
    if (!native_multiplies_bf16()) GTEST_SKIP() << "this processor has no bf16";
    const EngineOptions bf16{.engine = EngineKind::native, .precision = Precision::bf16};
    EXPECT_NE(make_denoiser(weights, bf16)->remark().find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace pb::engine
