// Windows of which only cores are used, in the engine native: their pixels are those of whole windows, bit for bit.
#include "base/stopwatch.hpp"
#include "engine/cropped_windows.hpp"
#include "engine/windows.hpp"
#include "support/networks.hpp"

#include <string>

namespace pb::engine {
namespace {

using test::CroppedWindows;
using test::native_options;
using test::row_networks;
using test::Scene;
using test::view_of;

void expect_cores_of_whole_windows(const Weights& weights, int64_t n, network::WinogradForm form, int threads) {
    const Scene scene = test::scene_of(network::alignment_of(weights.graph()));
    CroppedWindows windows(weights, scene, n, native_options(form, threads));
    test::for_batches(windows, scene, n,
                      [](const CroppedWindows::Pixels& pixels) { EXPECT_TRUE(pixels.cropped == pixels.whole); });
}

TEST(NativeCropped, HaveTheBitsOfWholeWindowsWhereverTheCoreLies) {
    test::for_row_networks_and_forms([](const Weights& weights, network::WinogradForm form) {
        for (const int64_t n : {1, 4}) {
            SCOPED_TRACE("batch " + std::to_string(n));
            expect_cores_of_whole_windows(weights, n, form, 3);
        }
    });
}

TEST(NativeCropped, HaveThemInAnyGraph) {
    for (const auto& graphs : {test::any_graphs(12), test::wide_graphs(6)})
        test::for_graphs(graphs, [](const Weights& weights) {
            for (const network::WinogradForm form : test::forms()) expect_cores_of_whole_windows(weights, 2, form, 1);
        });
}

TEST(NativeCropped, HaveThemInThePublishedNetworks) {
    for (const network::NetworkKind network : test::all_networks()) {
        SCOPED_TRACE(name_of(network));
        const Weights weights = make_seeded_weights(network, 3, test::kRowSeed);
        const Scene scene{{72, 56}, {{0, 16}, {24, 40}}, {{24, 40}, {40, 56}}};
        CroppedWindows windows(weights, scene, 1, native_options({}));
        for (const Rect& core : {Rect{0, 24, {16, 16}}, Rect{24, 40, {16, 16}}}) {
            const CroppedWindows::Pixels pixels = windows.run({core});
            EXPECT_TRUE(pixels.cropped == pixels.whole);
        }
    }
}

void expect_planned_memory_of_crops(const Weights& weights) {
    const network::Graph graph = network::graph_of(weights.shape);
    const network::WindowCrop crop(graph, {96, 64}, {{0, 32}, {32, 64}}, {{0, 32}, {16, 48}});
    const Shape shape = test::input_shape(weights, 2, 96, 64);
    auto values = test::random_values(static_cast<size_t>(shape.elements()), test::kRowSeed);
    std::vector<float> result(values.size());
    for (const network::WinogradForm form : test::forms()) {
        const EngineOptions options = native_options(form, 2);
        const auto denoiser = make_denoiser(weights, options);
        device::Stream stream({});
        test::expect_planned_memory(
            crop.place(2).bytes + 2 * network::native_scratch_bytes(graph, form),
            [&] { return denoiser->make_crop_pass(crop, 2, stream); },
            [&](CropPass& pass) {
                const std::vector<Rect> cores{{0, 0, {32, 32}}, {32, 16, {32, 32}}};
                pass.run(view_of(values.data(), shape, options),
                         view_of(result.data(), test::output_shape(weights, shape), options), cores);
            });
    }
}

TEST(NativeCropped, TakeTheMemoryThatIsPlanned) {
    for (const size_t network : {2, 4})
        expect_planned_memory_of_crops(make_seeded_weights(row_networks()[network], test::kRowSeed));
}

TEST(NativeCropped, TimesItsStepsAndSaysWhatTheyComputed) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 5, .width = 32}, test::kRowSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const Scene scene{{40, 40}, {{0, 16}, {0, 40}}, {{0, 16}, {0, 40}}};
    CroppedWindows windows(weights, scene, 2, native_options({}));
    const std::vector<Rect> cores{{0, 0, {16, 16}}, {0, 0, {40, 40}}};
    const auto steps = windows.pass().run_by_steps(windows.in(), windows.out(), cores);
    const auto expected = network::steps_of(graph, network::kNativePath.fusing);
    ASSERT_EQ(steps.size(), expected.size());
    const network::WindowCrop crop(graph, scene.window, scene.rows, scene.columns);
    for (size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].step, expected[i]);
        const auto edge = static_cast<double>(crop.rows_of(cores[0]).made[expected[i].last].size());
        EXPECT_DOUBLE_EQ(steps[i].part, (edge * edge / (40 * 40) + 1) / 2) << "one window in part, one as a whole";
    }
    EXPECT_LT(steps.back().part, 0.6);
}

TEST(NativeCropped, RefuseWhatTheyWereNotMadeFor) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, test::kRowSeed);
    const Scene scene{{40, 40}, {{0, 16}}, {{0, 16}}};
    CroppedWindows windows(weights, scene, 1, native_options({}));
    const std::vector<Rect> core{{0, 0, {16, 16}}};
    EXPECT_THROW(windows.pass().run(windows.in(), windows.out(), std::vector<Rect>{{0, 1, {16, 16}}}), Error);
    EXPECT_THROW(windows.pass().run(windows.in(), windows.out(), std::vector<Rect>{core[0], core[0]}), Error);
    BatchView in = windows.in(), out = windows.out();
    in.shape.h = out.shape.h = 20;
    in.shape.w = out.shape.w = 80;
    EXPECT_THROW(windows.pass().run(in, out, core), Error);
    CroppedWindows two(weights, scene, 2, native_options({}));
    EXPECT_THROW(windows.pass().run(two.in(), two.out(), std::vector<Rect>{core[0], core[0]}), Error) << "made for one";
}

/// Its first call takes a while.
class SlowFirstCall final : public AlikeCropPass {
  public:
    using AlikeCropPass::AlikeCropPass;
    static constexpr double kSlowS = 0.002;

  private:
    void run_alike(const BatchView&, const BatchView&, const Rect&, StepClock* clock) override {
        clock->start();
        const Stopwatch watch;
        while (num_calls_ == 0 && watch.seconds() < kSlowS) {
        }
        ++num_calls_;
        clock->add({1, 1});
    }
    int num_calls_ = 0;
};

TEST(NativeCropped, HaveTheSecondsOfAllCalls) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, test::kRowSeed);
    const Scene scene{{40, 40}, {{0, 16}, {0, 40}}, {{0, 16}, {0, 40}}};
    const EngineOptions options = native_options({});
    CroppedWindows windows(weights, scene, 2, options);
    const network::WindowCrop crop(weights.graph(), scene.window, scene.rows, scene.columns);
    SlowFirstCall pass(crop, 2, expected_views(weights, options));
    const auto steps =
        pass.run_by_steps(windows.in(), windows.out(), std::vector<Rect>{{0, 0, {16, 16}}, {0, 0, {40, 40}}});
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_GE(steps[0].seconds, SlowFirstCall::kSlowS);
}

TEST(NativeCropped, OtherEnginesComputeWholeWindows) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::WindowCrop crop(network::graph_of(weights.shape), {8, 8}, {{0, 8}}, {{0, 8}});
    device::Stream stream({});
    EXPECT_EQ(make_denoiser(weights, {.engine = EngineKind::reference})->make_crop_pass(crop, 1, stream), nullptr);
}

}  // namespace
}  // namespace pb::engine
