// Fused layers without a GPU: the decision which plan is used, on plans that compute on the CPU, rightly and wrongly;
// and what cuDNN proposes for the layers of the three networks on a device that is described, not there.
#include "engine/torch/fusion/fusion.hpp"

#include "engine/torch/network.hpp"
#include "support/denoise_batch.hpp"
#include "support/networks.hpp"
#include "support/standard_weights.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

namespace pb::engine::torch_engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Changes operands before a layer is computed, or its output afterwards.
using Fault = std::function<void(FusedOperands&)>;

struct Behaviour {
    Fault before, after;
    std::string why_not;        // no plan
    bool lacks_memory = false;  // find() does
    bool fails = false;         // run() does
    std::vector<FusedLayer> asked;
    int64_t calls = 0;
};

class FakePlan final : public FusedPlan {
  public:
    FakePlan(FusedLayer layer, Behaviour& behaviour) : layer_(layer), behaviour_(behaviour) {}

    void run(const FusedOperands& operands) override {
        ++behaviour_.calls;
        if (behaviour_.fails) throw Error("it does not run\nfor reasons");
        EXPECT_TRUE(operands.bias.defined()) << "zeros for a layer without one";
        FusedOperands o = operands;
        if (behaviour_.before) behaviour_.before(o);
        at::Tensor y = at::convolution(o.x, o.weight, o.bias, {layer_.stride, layer_.stride},
                                       {layer_.padding, layer_.padding}, {1, 1}, false, {0, 0}, 1);
        if (o.residual.defined()) y = y + o.residual;
        at::Tensor out = operands.y;
        out.copy_(layer_.relu ? y.relu() : y);
        if (behaviour_.after) behaviour_.after(o);
    }

  private:
    FusedLayer layer_;
    Behaviour& behaviour_;
};

class FakePlans final : public FusedPlans {
  public:
    explicit FakePlans(Behaviour& behaviour) : behaviour_(behaviour) {}

    FusedOffer find(const FusedLayer& layer, const FusedOperands&) override {
        behaviour_.asked.push_back(layer);
        TORCH_CHECK_WITH(OutOfMemoryError, !behaviour_.lacks_memory, "no room");
        if (!behaviour_.why_not.empty()) return {nullptr, behaviour_.why_not};
        return {std::make_unique<FakePlan>(layer, behaviour_), {}};
    }

  private:
    Behaviour& behaviour_;
};

/// A network with seeded weights on the CPU, fused by the plans of `behaviour`, or not.
class Net {
  public:
    Net(network::NetworkKind kind, Layout layout, Behaviour* behaviour) : weights_(test::standard_weights(kind)) {
        Placement placement = placement_of({.layout = layout});
        format_ = placement.format;
        if (behaviour != nullptr)
            placement.fusion =
                std::make_shared<Fusion>(std::make_unique<FakePlans>(*behaviour), Precision::fp32, layout);
        fusion_ = placement.fusion;
        network_.emplace(weights_, placement);
    }

    at::Tensor operator()(int64_t windows, int64_t edge) {
        const auto in = test::input_shape(weights_, windows, edge, edge);
        const auto values = test::random_values(static_cast<size_t>(in.elements()), 3);
        const at::Tensor x =
            at::from_blob(const_cast<float*>(values.data()), {in.n, in.c, in.h, in.w}).contiguous(format_);
        at::Tensor y = at::empty({windows, 3, edge, edge}, x.options(), format_);
        network_->run(x, y);
        return y;
    }

    [[nodiscard]] std::string remark() const { return fusion_->remark(); }

  private:
    c10::InferenceMode inference_;
    const Weights& weights_;
    at::MemoryFormat format_ = at::MemoryFormat::ChannelsLast;
    std::shared_ptr<Fusion> fusion_;
    std::optional<Network> network_;
};

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

class FusedNetwork : public testing::TestWithParam<network::NetworkKind> {};

INSTANTIATE_TEST_SUITE_P(Networks, FusedNetwork, testing::ValuesIn(test::all_networks()),
                         [](const auto& network) { return std::string(name_of(network.param)); });

TEST_P(FusedNetwork, EqualsTheUnfusedInBothLayouts) {
    for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
        Behaviour right;
        Net fused(GetParam(), layout, &right), plain(GetParam(), layout, nullptr);
        EXPECT_LT(relative_difference(fused(2, 16), plain(2, 16)), 1e-5);
        EXPECT_GT(right.calls, static_cast<int64_t>(right.asked.size()));
        EXPECT_EQ(fused.remark(), "");
    }
}

TEST_P(FusedNetwork, LooksForALayerOnceAShape) {
    Behaviour right;
    Net fused(GetParam(), Layout::channels_last, &right);
    (void)fused(2, 16);
    const std::set<FusedLayer> distinct(right.asked.begin(), right.asked.end());
    EXPECT_EQ(distinct.size(), right.asked.size());
    (void)fused(2, 16);
    EXPECT_EQ(right.asked.size(), distinct.size());
    (void)fused(1, 16);
    EXPECT_EQ(right.asked.size(), 2 * distinct.size());
}

TEST_P(FusedNetwork, AWrongPlanIsRefusedByName) {
    const std::map<std::string, std::pair<Fault, Fault>> faults{
        {"no bias", {[](FusedOperands& o) { o.bias = o.bias * 0; }, nullptr}},
        {"bias of another channel", {[](FusedOperands& o) { o.bias = o.bias.roll(1); }, nullptr}},
        {"a weight mirrored", {[](FusedOperands& o) { o.weight = o.weight.flip({3}); }, nullptr}},
        {"half the channels too large",
         {nullptr, [](FusedOperands& o) { o.y.narrow(1, 0, o.y.size(1) / 2).mul_(1.01); }}},
        {"last column left", {nullptr, [](FusedOperands& o) { o.y.select(3, o.y.size(3) - 1).fill_(0); }}},
        {"last window left", {nullptr, [](FusedOperands& o) { o.y.select(0, o.y.size(0) - 1).fill_(0); }}},
        {"one sample not a number",
         {nullptr, [](FusedOperands& o) { o.y.select(0, 0).select(0, 0).select(0, 0)[0].fill_(NAN); }}},
        {"no ReLU, or twice the sum", {nullptr, [](FusedOperands& o) { o.y.sub_(0.5); }}}};
    Net plain(GetParam(), Layout::channels_last, nullptr);
    const at::Tensor expected = plain(2, 16);
    for (const auto& [what, fault] : faults) {
        Behaviour wrong{.before = fault.first, .after = fault.second};
        Net fused(GetParam(), Layout::channels_last, &wrong);
        EXPECT_TRUE(at::equal(fused(2, 16), expected)) << what;
        EXPECT_EQ(wrong.calls, static_cast<int64_t>(wrong.asked.size())) << "checked and never used: " << what;
        EXPECT_THAT(fused.remark(),
                    AllOf(HasSubstr("ran unfused"), HasSubstr("conv3x3+bias+relu_"), HasSubstr("wrong by")))
            << what;
    }
}

TEST(FusedLayers, ASumThatIsWrongInPlaceOnlyIsRefused) {
    Behaviour wrong{.before = [](FusedOperands& o) {
        if (o.residual.defined() && o.residual.is_same(o.y)) o.residual = o.residual * 2;
    }};
    Net fused(network::kind_of<network::DrunetShape>(), Layout::channels_last, &wrong),
        plain(network::kind_of<network::DrunetShape>(), Layout::channels_last, nullptr);
    EXPECT_LT(relative_difference(fused(1, 16), plain(1, 16)), 1e-5);
    EXPECT_THAT(fused.remark(), HasSubstr("4 of 8 kinds of layer ran unfused (conv3x3+bias+sum_"));
}

TEST(FusedLayers, StridesShrinkTheirMaps) {
    const Shape in{1, 4, 16, 12}, halved{1, 8, 8, 6};
    EXPECT_EQ((FusedLayer{.in = in, .out_channels = 8, .kernel = 2, .stride = 2, .padding = 0}.out()), halved);
    EXPECT_EQ((FusedLayer{.in = in, .out_channels = 8, .kernel = 3, .stride = 2, .padding = 1}.out()), halved);
}

TEST(FusedLayers, WhereNoneIsOfferedTheNetworkRunsAsItIs) {
    Net plain(network::kind_of<network::DncnnShape>(), Layout::channels_last, nullptr);
    Behaviour none{.why_not = "no kernel for it"}, small{.lacks_memory = true};
    Net without(network::kind_of<network::DncnnShape>(), Layout::channels_last, &none),
        too_small(network::kind_of<network::DncnnShape>(), Layout::channels_last, &small);
    const at::Tensor expected = plain(1, 8);
    EXPECT_TRUE(at::equal(without(1, 8), expected));
    EXPECT_THAT(without.remark(), HasSubstr("2 of 2 kinds of layer ran unfused (conv3x3+bias+relu_3to64_1x8x8_fp32_"
                                            "channels_last: no kernel for it"));
    Behaviour broken{.fails = true};
    Net failing(network::kind_of<network::DncnnShape>(), Layout::channels_last, &broken);
    EXPECT_TRUE(at::equal(failing(1, 8), expected));
    EXPECT_THAT(failing.remark(), AllOf(HasSubstr("channels_last: it does not run"), Not(HasSubstr("\n"))));
    EXPECT_TRUE(at::equal(too_small(1, 8), expected));
    EXPECT_THAT(too_small.remark(), HasSubstr("too little memory to check it"));
}

/// Numbers of the plans that are built of 20 proposals, of which each fourth cannot be, when building one takes
/// `build_s`.
std::vector<int64_t> built_of_20(const SearchLimits& limits, double build_s) {
    double clock_s = 100;
    const auto build = [&](int64_t i) {
        clock_s += build_s;
        return i % 4 == 0 ? std::nullopt : std::optional(i);
    };
    return build_first(20, limits, build, [&] { return clock_s; });
}

TEST(PlanSearch, BuildsTheFirstPlansThatCanBeBuiltInItsTime) {
    using Numbers = std::vector<int64_t>;
    EXPECT_EQ(built_of_20({}, 10), (Numbers{1}));
    EXPECT_EQ(built_of_20({.plans = 4, .seconds = 1}, 0.01), (Numbers{1, 2, 3, 5}));
    EXPECT_EQ(built_of_20({.plans = 8, .seconds = 1}, 0.3), (Numbers{1, 2, 3}));
    EXPECT_EQ(built_of_20({.plans = 8, .seconds = 1}, 7), (Numbers{1})) << "one is built, however long it takes";
    EXPECT_EQ(built_of_20({.plans = 100, .seconds = 1}, 0).size(), 15U);
}

TEST(PlanSearch, TakesTheFastestThatRuns) {
    constexpr double kFails = std::numeric_limits<double>::infinity();
    EXPECT_EQ(fastest_of({3, kFails, 1, 2}), 2U);
    EXPECT_EQ(fastest_of({kFails, kFails}), std::nullopt);
    EXPECT_EQ(fastest_of({}), std::nullopt);
}

/// An H200 as its data sheet and the CUDA manual describe it, in cuDNN's own words.
constexpr const char* kDevice =
    R"({"deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
    "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "multiProcessorCount": 132, "warpSize": 32,
    "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "maxSharedMemoryPerSM": 233472,
    "reservedSharedMemoryPerBlock": 1024, "totalGlobalMem": 150754820096, "smClockRateKHz": 1980000,
    "memClockRateKHz": 3201000, "l2CacheSize": 62914560})";

bool has_cudnn_frontend() {
    try {
        return count_proposed_plans({.in = {1, 64, 64, 64}, .out_channels = 64, .relu = true}, kDevice) > 0;
    } catch (const Error& error) {
        return std::string(error.what()).find("this build has no cudnn-frontend") == std::string::npos;
    }
}

TEST_P(FusedNetwork, CudnnProposesPlansForEachLayerOnADescribedDevice) {
    if (!has_cudnn_frontend()) GTEST_SKIP() << "this build has no cudnn-frontend";
    Behaviour right;
    Net fused(GetParam(), Layout::channels_last, &right);
    (void)fused(1, 16);
    ASSERT_FALSE(right.asked.empty());
    for (FusedLayer layer : right.asked)
        for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32}) {
            layer.precision = precision;
            layer.in = {.n = 4, .c = layer.in.c, .h = 16 * layer.in.h, .w = 16 * layer.in.w};
            EXPECT_GT(count_proposed_plans(layer, kDevice), 0) << layer.name();
            layer.in = {.n = 1, .c = layer.in.c, .h = layer.in.h / 16, .w = layer.in.w / 16};
        }
}

TEST(FusedLayers, WhatIsNoDeviceIsRefused) {
    if (!has_cudnn_frontend()) GTEST_SKIP() << "this build has no cudnn-frontend";
    EXPECT_THROW((void)count_proposed_plans({.in = {1, 64, 64, 64}, .out_channels = 64}, "{}"), Error);
    EXPECT_THROW((void)count_proposed_plans({.in = {1, 64, 64, 64}, .out_channels = 64}, "no JSON"), Error);
}

}  // namespace
}  // namespace pb::engine::torch_engine
