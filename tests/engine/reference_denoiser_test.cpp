// The reference must be right by itself: its operations against their definitions, its networks by properties.
#include "engine/reference/map.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace pb::engine {
namespace {

using reference::Map;

Map counting_map(int64_t c, int64_t h, int64_t w) {
    Map map(c, h, w);
    std::iota(map.values.begin(), map.values.end(), 1.0);
    return map;
}

double at_or_zero(const Map& x, int64_t c, int64_t y, int64_t column) {
    return y < 0 || column < 0 || y >= x.h || column >= x.w ? 0.0 : x.row(c, y)[column];
}

Convolution convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride, bool transposed) {
    return {{out, in, kernel, stride, transposed},
            test::random_values(static_cast<size_t>(in * out * kernel * kernel), 1),
            test::random_values(static_cast<size_t>(out), 2)};
}

/// One output value by the definition of a convolution.
double convolved(const Map& x, const Convolution& c, int64_t o, int64_t y, int64_t column) {
    const int64_t k = c.kernel, padding = k == 3 ? 1 : 0;
    double sum = c.bias[static_cast<size_t>(o)];
    for (int64_t i = 0; i < x.c; ++i)
        for (int64_t ky = 0; ky < k; ++ky)
            for (int64_t kx = 0; kx < k; ++kx)
                sum += c.weight[static_cast<size_t>(((o * x.c + i) * k + ky) * k + kx)] *
                       at_or_zero(x, i, y * c.stride + ky - padding, column * c.stride + kx - padding);
    return sum;
}

TEST(ReferenceMap, ConvolvesAsDefined) {
    for (const auto& [kernel, stride] : {std::pair<int64_t, int64_t>{3, 1}, {2, 2}, {1, 1}}) {
        const Map x = counting_map(2, 4, 6);
        const Convolution c = convolution(2, 3, kernel, stride, false);
        const Map y = reference::convolve(x, c);
        ASSERT_EQ(y.h, x.h / stride);
        ASSERT_EQ(y.w, x.w / stride);
        for (int64_t o = 0; o < y.c; ++o)
            for (int64_t row = 0; row < y.h; ++row)
                for (int64_t column = 0; column < y.w; ++column)
                    EXPECT_NEAR(y.row(o, row)[column], convolved(x, c, o, row, column), 1e-9) << kernel;
    }
}

TEST(ReferenceMap, TransposedIsTheAdjointOfDirect) {
    const Map x = counting_map(2, 3, 4), y = counting_map(3, 6, 8);
    Convolution transposed = convolution(2, 3, 2, 2, true);  // weight [in 2, out 3, 2, 2]
    transposed.bias.clear();
    Convolution direct = transposed;  // the same weight read as [out 2, in 3, 2, 2]
    direct.transposed = false;
    std::swap(direct.in_channels, direct.out_channels);
    const Map up = reference::convolve(x, transposed), down = reference::convolve(y, direct);
    EXPECT_NEAR(std::inner_product(up.values.begin(), up.values.end(), y.values.begin(), 0.0),
                std::inner_product(x.values.begin(), x.values.end(), down.values.begin(), 0.0), 1e-6);
}

TEST(ReferenceMap, PoolingUndoesDoubling) {
    const Map x = counting_map(2, 3, 4);
    EXPECT_EQ(reference::max_pool_2x2(reference::double_nearest(x)).values, x.values);
    Map y = counting_map(1, 4, 4);  // ascending: the largest of a cell is its last
    EXPECT_EQ(reference::max_pool_2x2(y).values, (std::vector<double>{6, 8, 14, 16}));
}

TEST(Reference, ResidualSignsAreMirrored) {
    Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, 3);
    const EngineOptions options{.engine = EngineKind::reference};
    const Shape shape = test::input_shape(weights, 1, 6, 7);
    const auto in = test::random_values(static_cast<size_t>(shape.elements()), 4);
    weights.shape = network::DncnnShape{.channels = weights.channels(), .residual = network::DncnnResidual::add};
    const auto added = test::denoise(*make_denoiser(weights, options), weights, options, in, shape);
    weights.shape = network::DncnnShape{.channels = weights.channels(), .residual = network::DncnnResidual::subtract};
    const auto subtracted = test::denoise(*make_denoiser(weights, options), weights, options, in, shape);
    for (size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(added[i] + subtracted[i], 2 * in[i], 1e-5);
    EXPECT_NE(added, subtracted);
}

TEST(Reference, WindowsOfABatchDoNotTouchEachOther) {
    const Weights weights = make_seeded_weights(network::kind_of<network::UnetShape>(), 3, 3);
    const EngineOptions options{.engine = EngineKind::reference};
    const auto denoiser = make_denoiser(weights, options);
    const Shape pair = test::input_shape(weights, 2, 8, 16), one = test::input_shape(weights, 1, 8, 16);
    const auto in = test::random_values(static_cast<size_t>(pair.elements()), 5);
    const auto both = test::denoise(*denoiser, weights, options, in, pair);
    const std::vector<float> second(in.begin() + one.elements(), in.end());
    const auto alone = test::denoise(*denoiser, weights, options, second, one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), both.begin() + static_cast<int64_t>(alone.size())));
}

TEST(Reference, RefusesWhatItCannotDo) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, 3);
    EXPECT_THROW((void)make_denoiser(weights, {.engine = EngineKind::reference, .precision = Precision::bf16}),
                 UsageError);
    EXPECT_THROW((void)make_denoiser(weights, {.engine = EngineKind::reference, .device = {DeviceKind::cuda, 0}}),
                 UsageError);
}

}  // namespace
}  // namespace pb::engine
