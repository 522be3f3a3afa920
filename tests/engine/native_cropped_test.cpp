// Windows of which only cores are used, in the engine native: their pixels are those of whole windows, bit for bit.
#include "engine/native_rows.hpp"
#include "network/window_crop.hpp"
#include "support/networks.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace pb::engine {
namespace {

using test::native_options;
using test::row_networks;
using test::view_of;

/// Windows of one extent with their cores, along each axis.
struct Scene {
    Extent window;
    std::vector<Range> rows, columns;
};

/// Cores of `core` pixels at the image's border on either side, within it, at one end of a clipped last patch, and one
/// that is the whole axis.
std::vector<Range> cores_within(int64_t extent, int64_t core, int64_t step) {
    return {{0, core}, {2 * step, 2 * step + core}, {extent - core, extent}, {extent - core, extent - 3}, {0, extent}};
}

/// `scene`'s cores for each of `n` windows, which repeat and change within a batch.
std::vector<Rect> cores_of(const Scene& scene, int64_t n, size_t first) {
    std::vector<Rect> cores;
    for (size_t i = first; std::ssize(cores) < n; ++i) {
        const size_t kind = i / 2;  // two windows in a row have the same
        cores.push_back(rect_of(scene.rows[kind / scene.columns.size() % scene.rows.size()],
                                scene.columns[kind % scene.columns.size()]));
    }
    return cores;
}

/// Whether the pixels of `core` of window `n` are the same in both.
bool equal_in(const Rect& core, int64_t n, const std::vector<float>& a, const std::vector<float>& b,
              const Shape& shape) {
    for (int64_t y = core.row; y < core.row + core.extent.h; ++y) {
        const int64_t begin = ((n * shape.h + y) * shape.w + core.column) * shape.c;
        if (!std::equal(a.begin() + begin, a.begin() + begin + core.extent.w * shape.c, b.begin() + begin))
            return false;
    }
    return true;
}

class CroppedWindows {
  public:
    CroppedWindows(const Weights& weights, const Scene& scene, int64_t n, network::WinogradForm form, int threads)
        : crop_(weights.graph(), scene.window, scene.rows, scene.columns),
          options_(native_options(form, threads)),
          denoiser_(make_denoiser(weights, options_)),
          in_shape_(test::input_shape(weights, n, scene.window.h, scene.window.w)),
          out_shape_(test::output_shape(weights, in_shape_)),
          values_(test::random_values(static_cast<size_t>(in_shape_.elements()), test::kRowSeed)),
          whole_(test::denoise(*denoiser_, weights, options_, values_, in_shape_)),
          cropped_(whole_.size()),
          pass_(denoiser_->make_crop_pass(crop_, n)) {}

    [[nodiscard]] BatchView in() { return view_of(values_.data(), in_shape_, options_); }
    [[nodiscard]] BatchView out() { return view_of(cropped_.data(), out_shape_, options_); }
    [[nodiscard]] CropPass& pass() { return *pass_; }

    void expect_equal(const std::vector<Rect>& cores) {
        cropped_.assign(whole_.size(), std::nanf(""));
        pass_->run(in(), out(), cores);
        for (size_t i = 0; i < cores.size(); ++i)
            EXPECT_TRUE(equal_in(cores[i], static_cast<int64_t>(i), cropped_, whole_, out_shape_))
                << "window " << i << ", core at " << cores[i].row << ", " << cores[i].column;
    }

  private:
    network::WindowCrop crop_;
    EngineOptions options_;
    std::unique_ptr<Denoiser> denoiser_;
    Shape in_shape_, out_shape_;
    std::vector<float> values_, whole_, cropped_;
    std::unique_ptr<CropPass> pass_;
};

void expect_cores_of_whole_windows(const Weights& weights, int64_t n, network::WinogradForm form, int threads) {
    const int64_t step = network::alignment_of(weights.graph());
    const Extent window{std::max(round_up(33, step), 9 * step), std::max(round_up(21, step), 7 * step)};
    const Scene scene{window, cores_within(window.h, 3 * step + 1, step), cores_within(window.w, 2 * step + 3, step)};
    CroppedWindows windows(weights, scene, n, form, threads);
    for (size_t first = 0; first < 2 * scene.rows.size() * scene.columns.size(); first += static_cast<size_t>(n) + 1)
        windows.expect_equal(cores_of(scene, n, first));
}

TEST(NativeCropped, HaveTheBitsOfWholeWindowsWhereverTheCoreLies) {
    for (const network::NetworkShape& network : row_networks()) {
        const Weights weights = make_seeded_weights(network, test::kRowSeed);
        for (const network::WinogradForm form : test::forms())
            for (const auto& [n, threads] : {std::pair{1, 1}, {1, 3}, {4, 3}}) {
                SCOPED_TRACE(test::text_of(network::graph_of(network), form) + ", batch " + std::to_string(n) +
                             ", threads " + std::to_string(threads));
                expect_cores_of_whole_windows(weights, n, form, threads);
            }
    }
}

TEST(NativeCropped, HaveThemInAnyGraph) {
    for (const network::Graph& graph : test::any_graphs(12)) {
        SCOPED_TRACE(network::to_text(graph));
        const Weights weights = test::weights_of(graph, test::kRowSeed);
        for (const network::WinogradForm form : test::forms()) expect_cores_of_whole_windows(weights, 2, form, 1);
    }
}

TEST(NativeCropped, HaveThemInThePublishedNetworks) {
    for (const network::NetworkKind network : test::all_networks()) {
        SCOPED_TRACE(name_of(network));
        const Weights weights = make_seeded_weights(network, 3, test::kRowSeed);
        const Scene scene{{72, 56}, {{0, 16}, {24, 40}}, {{24, 40}, {40, 56}}};
        CroppedWindows windows(weights, scene, 1, {}, 1);
        for (const Rect& core : {Rect{0, 24, {16, 16}}, Rect{24, 40, {16, 16}}}) windows.expect_equal({core});
    }
}

TEST(NativeCropped, TakeTheMemoryThatIsPlanned) {
    const Weights weights = make_seeded_weights(row_networks()[4], test::kRowSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const network::WindowCrop crop(graph, {96, 64}, {{0, 32}, {32, 64}}, {{0, 32}, {16, 48}});
    const Shape shape = test::input_shape(weights, 2, 96, 64);
    auto values = test::random_values(static_cast<size_t>(shape.elements()), test::kRowSeed);
    std::vector<float> result(values.size());
    for (const network::WinogradForm form : test::forms()) {
        const EngineOptions options = native_options(form, 2);
        const auto denoiser = make_denoiser(weights, options);
        test::expect_planned_memory(
            crop.place(2).bytes + 2 * network::native_scratch_bytes(graph, form),
            [&] { return denoiser->make_crop_pass(crop, 2); },
            [&](CropPass& pass) {
                const std::vector<Rect> cores{{0, 0, {32, 32}}, {32, 16, {32, 32}}};
                pass.run(view_of(values.data(), shape, options),
                         view_of(result.data(), test::output_shape(weights, shape), options), cores);
            });
    }
}

TEST(NativeCropped, TimesItsStepsAndSaysWhatTheyComputed) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 5, .width = 32}, test::kRowSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const Scene scene{{40, 40}, {{0, 16}, {0, 40}}, {{0, 16}, {0, 40}}};
    CroppedWindows windows(weights, scene, 2, {}, 1);
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
    CroppedWindows windows(weights, scene, 1, {}, 1);
    const std::vector<Rect> core{{0, 0, {16, 16}}};
    EXPECT_THROW(windows.pass().run(windows.in(), windows.out(), std::vector<Rect>{{0, 1, {16, 16}}}), Error);
    EXPECT_THROW(windows.pass().run(windows.in(), windows.out(), std::vector<Rect>{core[0], core[0]}), Error);
    BatchView in = windows.in(), out = windows.out();
    in.shape.h = out.shape.h = 20;
    in.shape.w = out.shape.w = 80;
    EXPECT_THROW(windows.pass().run(in, out, core), Error);
}

TEST(NativeCropped, OtherEnginesComputeWholeWindows) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::WindowCrop crop(network::graph_of(weights.shape), {8, 8}, {{0, 8}}, {{0, 8}});
    for (const EngineKind engine : {EngineKind::torch, EngineKind::reference})
        EXPECT_EQ(make_denoiser(weights, {.engine = engine})->make_crop_pass(crop, 1), nullptr);
}

}  // namespace
}  // namespace pb::engine
