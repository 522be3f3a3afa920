#include "network/arena.hpp"
#include "network/native_layout.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <string>

namespace pb {
namespace {

using test::denoise;
using test::input_shape;
using test::output_shape;
using test::random_values;
using test::relative_difference;
using testing::HasSubstr;

constexpr uint64_t kSeed = 7;
const EngineOptions kNative{.engine = EngineKind::native};
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

/// Chooses the instruction set while it lives.
class OnTarget {
  public:
    explicit OnTarget(int64_t target) { choose(target); }
    ~OnTarget() { choose(0); }
    OnTarget(const OnTarget&) = delete;

  private:
    static void choose(int64_t target) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().DeInit();
    }
};

/// The instruction sets that kernels were compiled for and that this processor has.
std::vector<int64_t> targets() {
    std::vector<int64_t> found{HWY_STATIC_TARGET};
    for (const int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3})
        if ((hwy::SupportedTargets() & target) != 0) found.push_back(target);
    return found;
}

/// Networks in which every kernel runs, with and without channels that fill vectors and panels.
const std::vector<NetworkShape> kShapes{
    DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 1},
    DrunetShape{.widths = {16, 24, 32, 40, 48}, .blocks = 2},
    DrunetShape{.widths = {32, 64, 96}, .blocks = 1},
    DrunetShape{.widths = {64}, .blocks = 2},
    UnetShape{.channels = 1, .widths = {8, 20}},
    UnetShape{.widths = {32, 64, 32}},
    UnetShape{.widths = {16, 48, 32, 64}},
    DncnnShape{.depth = 2, .width = 8, .residual = DncnnResidual::none},
    DncnnShape{.depth = 3, .width = 24, .residual = DncnnResidual::add},
    DncnnShape{.channels = 1, .depth = 4, .width = 32, .residual = DncnnResidual::subtract},
    DncnnShape{.channels = 4, .depth = 3, .width = 64},
    DncnnShape{.channels = 32, .depth = 3, .width = 32, .residual = DncnnResidual::none},
    DncnnShape{.channels = 5, .depth = 3, .width = 96},
};

TEST(NativeEngine, EqualsTheReferenceForAnyShapeOnEveryInstructionSet) {
    for (const NetworkShape& network : kShapes) {
        SCOPED_TRACE(to_text(graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const auto exact = run(weights, kReference, 2, 48, 32);
        for (const int64_t target : targets()) {
            const OnTarget on(target);
            EXPECT_LT(rms_error(run(weights, kNative, 2, 48, 32), exact), 3e-6) << hwy::TargetName(target);
        }
    }
}

TEST(NativeEngine, TakesExtentsThatAreNoMultipleOfATile) {
    const Weights chain = make_seeded_weights(DncnnShape{.depth = 3, .width = 32}, kSeed);
    const Weights scales = make_seeded_weights(DrunetShape{.widths = {32, 64, 96}, .blocks = 1}, kSeed);
    for (const int64_t h : {1, 2, 3, 5, 6, 7, 17})
        for (const int64_t w : {1, 4, 5, 9, 15, 30}) {
            const std::string extents = std::to_string(h) + " x " + std::to_string(w);
            EXPECT_LT(rms_error(run(chain, kNative, 2, h, w), run(chain, kReference, 2, h, w)), 3e-6) << extents;
            EXPECT_LT(rms_error(run(scales, kNative, 1, 4 * h, 4 * w), run(scales, kReference, 1, 4 * h, 4 * w)), 3e-6)
                << extents << " times 4";
        }
}

class NativeNetworks : public testing::TestWithParam<NetworkKind> {
  protected:
    NativeNetworks() : weights_(make_seeded_weights(GetParam(), 3, kSeed)) {}
    Weights weights_;
};

INSTANTIATE_TEST_SUITE_P(Networks, NativeNetworks,
                         testing::Values(NetworkKind::drunet, NetworkKind::unet, NetworkKind::dncnn),
                         [](const auto& network) { return std::string(name_of(network.param)); });

TEST_P(NativeNetworks, ErrsNoMoreThanDirectConvolutions) {
    const auto exact = run(weights_, kReference, 1, 40, 56);
    const double of_torch = rms_error(run(weights_, {}, 1, 40, 56), exact);
    const double ours = rms_error(run(weights_, kNative, 1, 40, 56), exact);
    RecordProperty("torch", std::to_string(of_torch * 1e6));
    RecordProperty("native", std::to_string(ours * 1e6));
    EXPECT_LE(ours, 1.2 * of_torch);
}

}  // namespace
}  // namespace pb
