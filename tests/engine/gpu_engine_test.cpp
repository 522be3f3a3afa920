// The torch engine on a CUDA device against the same engine on the CPU in fp32.
#include "engine/cropped_windows.hpp"
#include "engine/torch_library.hpp"
#include "plan/plan.hpp"
#include "support/computed_graphs.hpp"
#include "support/denoise_batch.hpp"
#include "support/networks.hpp"
#include "support/slot.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace pb::engine {
namespace {

using test::relative_difference;
using test::Slot;

constexpr DeviceId kCuda{DeviceKind::cuda, 0};
constexpr uint64_t kSeed = 11;

/// Largest |difference| to fp32 on the CPU, relative to the largest output. tf32 and fp16 keep 11 bits of mantissa,
/// bf16 8: rounding weights and activations so, on a CPU, moved outputs of such networks by 0.0025, 0.0025 and 0.016.
/// fp32: cuDNN adds up in another order, and an autotuned algorithm may be Winograd's.
double tolerance_of(Precision precision) {
    switch (precision) {
        case Precision::fp32: return 3e-4;
        case Precision::bf16: return 0.06;
        default: return 0.01;
    }
}

std::vector<float> windows_of(const Weights& weights, const Shape& shape, uint64_t seed = kSeed) {
    return test::random_values(static_cast<size_t>(shape.pixels() * weights.channels()), seed);
}

/// Windows n x h x w of `shape` through a new denoiser, prepared first.
std::vector<float> denoise(const Weights& weights, const EngineOptions& options, const Shape& shape) {
    const auto denoiser = make_denoiser(weights, options);
    device::Stream stream(options.device);
    Slot slot(weights, options, shape);
    slot.prepare(*denoiser, stream);
    return slot.denoise(*denoiser, windows_of(weights, shape), stream);
}

/// Notes the largest error of each precision in the report of the test, which launch/gpu_check.sh shows.
class RecordedErrors {
  public:
    RecordedErrors() = default;
    ~RecordedErrors() {
        for (const auto& [precision, error] : largest_)
            testing::Test::RecordProperty("error_" + std::string(name_of(precision)),
                                          std::to_string(error * 1e6) + "e-6");
    }
    RecordedErrors(const RecordedErrors&) = delete;
    RecordedErrors& operator=(const RecordedErrors&) = delete;

    /// Adds an error and returns it.
    double add(Precision precision, double error) {
        double& largest = largest_[precision];
        if (!(error <= largest)) largest = error;  // also when it is not a number
        return error;
    }

  private:
    std::map<Precision, double> largest_;
};

class GpuTest : public testing::Test {
  protected:
    void SetUp() override {
        if (device::visible_cuda_devices().empty()) GTEST_SKIP() << device::why_no_cuda_device();
        device::select_device(kCuda);
    }
};

class GpuEngine : public GpuTest, public testing::WithParamInterface<network::NetworkKind> {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped()) weights_ = make_seeded_weights(GetParam(), 3, kSeed);
    }

    Weights weights_;
    EngineOptions options_{.device = kCuda};
};

INSTANTIATE_TEST_SUITE_P(Networks, GpuEngine, testing::ValuesIn(test::all_networks()),
                         [](const auto& network) { return std::string(name_of(network.param)); });

TEST_P(GpuEngine, EveryPrecisionAndLayoutIsNearTheCpu) {
    RecordedErrors errors;
    for (const int64_t channels : {1, 3}) {
        const Weights weights = make_seeded_weights(GetParam(), channels, kSeed);
        const Shape shape{.n = 2, .h = 64, .w = 72};
        const auto expected = denoise(weights, {}, shape);
        for (const auto& [precision, name] : enum_table<Precision>())
            for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
                const auto ours = denoise(weights, {.device = kCuda, .precision = precision, .layout = layout}, shape);
                EXPECT_LT(errors.add(precision, relative_difference(ours, expected)), tolerance_of(precision))
                    << channels << " channels, " << name << ", " << name_of(layout);
            }
    }
}

TEST_P(GpuEngine, CroppedWindowsAreNearTheCpu) {
    RecordedErrors errors;
    const test::Scene scene = test::scene_of(network::network_facts(GetParam()).alignment);
    const network::WindowCrop crop(weights_.graph(), scene.window, scene.rows, scene.columns,
                                   {network::ComputedUnit::pixel, network::kCudnnPiecesPath});
    const Shape shape{.n = 4, .c = 3, .h = scene.window.h, .w = scene.window.w};
    const auto whole = denoise(weights_, {}, shape);
    for (const auto& [precision, name] : enum_table<Precision>())
        for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
            const EngineOptions options{.device = kCuda, .precision = precision, .layout = layout};
            const auto denoiser = make_denoiser(weights_, options);
            device::Stream stream(kCuda);
            Slot slot(weights_, options, shape);
            const auto pass = denoiser->make_crop_pass(crop, shape.n, stream);
            std::vector<float> ours, expected;
            for (size_t first = 0; first < 2 * scene.rows.size() * scene.columns.size(); first += 5) {
                const std::vector<Rect> cores = test::cores_of(scene, shape.n, first);
                slot.load(windows_of(weights_, shape), stream);
                pass->run(slot.in(), slot.out(), cores);
                const auto cropped = slot.result(stream);
                for (int64_t i = 0; i < shape.n; ++i) {
                    const auto append = [&](std::vector<float>& all, const std::vector<float>& windows) {
                        const auto pixels = test::pixels_in(cores[static_cast<size_t>(i)], i, windows, shape);
                        all.insert(all.end(), pixels.begin(), pixels.end());
                    };
                    append(ours, cropped);
                    append(expected, whole);
                }
            }
            EXPECT_LT(errors.add(precision, relative_difference(ours, expected)), tolerance_of(precision))
                << name << ", " << name_of(layout);
        }
}

/// In every precision, one image after another.
void expect_carried_rows(const Weights& weights, const network::BandSchedule& schedule, RecordedErrors& errors) {
    const Shape image{.n = 1, .c = 3, .h = schedule.shape().image.h, .w = schedule.shape().image.w};
    const auto whole = denoise(weights, {}, image);
    for (const auto& [precision, name] : enum_table<Precision>()) {
        const EngineOptions options{.device = kCuda, .precision = precision};
        const auto denoiser = make_denoiser(weights, options);
        device::Stream stream(kCuda);
        Slot slot(weights, options, image);
        const auto pass = denoiser->make_band_pass(schedule, stream);
        const auto rows_of = [&](const BatchView& view, const Range& rows) {
            return static_cast<std::byte*>(view.pointer) +
                   static_cast<size_t>(rows.begin) * (view.bytes() / static_cast<size_t>(image.h));
        };
        const auto carry = [&] {
            slot.load(windows_of(weights, image), stream);
            for (int64_t s = 0; s < schedule.num_steps(); ++s)
                pass->run(s, rows_of(slot.in(), schedule.made(s, 0)),
                          rows_of(slot.out(), schedule.made(s, schedule.graph().output())));
            return slot.result(stream);
        };
        const auto first = carry();
        EXPECT_LT(errors.add(precision, relative_difference(first, whole)), tolerance_of(precision)) << name;
        const int64_t allocations = allocator_counters(kCuda).num_allocations;
        EXPECT_TRUE(carry() == first) << name << ", a second image";
        EXPECT_EQ(allocator_counters(kCuda).num_allocations, allocations) << name;
    }
}

TEST_P(GpuEngine, CarriedRowsAreNearTheWholeImageAndAllocateNothingMore) {
    RecordedErrors errors;
    const int64_t step = network::network_facts(GetParam()).alignment;
    const network::BandShape shape{.rows = {0, round_up(200, step)},
                                   .band = round_up(32, step),
                                   .image = {round_up(200, step), round_up(72, step)},
                                   .unit = network::ComputedUnit::pixel};
    for (const network::LateGraph& computed : test::computed_graphs(weights_.graph())) {
        SCOPED_TRACE(std::to_string(computed.graph.size()) + " operations");
        expect_carried_rows(weights_, {weights_.graph(), computed, shape}, errors);
    }
}

/// Steps find their input and their output at the same addresses.
std::vector<float> carry(BandPass& pass, const network::BandSchedule& schedule, const std::vector<float>& image,
                         device::Stream& stream) {
    const network::Graph& graph = schedule.graph();
    const int64_t in_row = schedule.shape().image.w * graph.channels_in();
    const int64_t out_row = schedule.shape().image.w * graph.channels_out();
    const EngineBuffer in(kCuda, sizeof(float) * static_cast<size_t>(schedule.most_input_rows() * in_row));
    const EngineBuffer out(kCuda, sizeof(float) * static_cast<size_t>(schedule.shape().band * out_row));
    std::vector<float> result(static_cast<size_t>(schedule.shape().image.h * out_row));
    for (int64_t step = 0; step < schedule.num_steps(); ++step) {
        const Range taken = schedule.made(step, 0), made = schedule.made(step, graph.output());
        const auto bytes = [](int64_t values) { return sizeof(float) * static_cast<size_t>(values); };
        device::copy_to_device(in.pointer(), image.data() + taken.begin * in_row, bytes(taken.size() * in_row), stream);
        pass.run(step, in.pointer(), out.pointer());
        device::copy_to_host(result.data() + made.begin * out_row, out.pointer(), bytes(made.size() * out_row), stream);
    }
    stream.synchronise();
    return result;
}

TEST_P(GpuEngine, ReplayedStepsOfCarriedRowsGiveWhatEnqueuedOnesGive) {
    const int64_t step = network::network_facts(GetParam()).alignment;
    const network::BandSchedule schedule(
        weights_.graph(),
        {.rows = {0, 1024}, .band = 32, .image = {1024, round_up(72, step)}, .unit = network::ComputedUnit::pixel});
    const auto image = test::random_values(
        static_cast<size_t>(schedule.shape().image.pixels() * weights_.graph().channels_in()), kSeed);
    device::Stream stream(kCuda);
    EngineOptions replayed = options_;
    replayed.cuda_graph = true;
    const auto denoiser = make_denoiser(weights_, options_), other = make_denoiser(weights_, replayed);
    const auto pass = denoiser->make_band_pass(schedule, stream), replays = other->make_band_pass(schedule, stream);
    const auto expected = carry(*pass, schedule, image, stream);
    for (const char* time : {"captured", "replayed"})
        EXPECT_TRUE(carry(*replays, schedule, image, stream) == expected) << time;
    EXPECT_EQ(pass->replay_bytes(), 0);
    EXPECT_GT(replays->replay_bytes(), 0) << "of the steps between the first and the last";
}

TEST_P(GpuEngine, BenchmarkingOfAlgorithmsKeepsTheResult) {
    const Shape shape{.n = 2, .h = 48, .w = 56};
    const auto expected = denoise(weights_, {}, shape);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        const EngineOptions options{.device = kCuda, .precision = precision, .cudnn_benchmark = true};
        EXPECT_LT(relative_difference(denoise(weights_, options, shape), expected), tolerance_of(precision));
    }
}

TEST_P(GpuEngine, FusedLayersAreNearTheCpuAndAllOfThemAreFused) {
    RecordedErrors errors;
    const Shape shape{.n = 2, .h = 64, .w = 72};
    const auto expected = denoise(weights_, {}, shape);
    for (const auto& [precision, name] : enum_table<Precision>())
        for (const bool graph : {false, true}) {
            const EngineOptions options{
                .device = kCuda, .precision = precision, .cudnn_benchmark = true, .cuda_graph = graph, .fusion = true};
            const auto denoiser = make_denoiser(weights_, options);
            device::Stream stream(kCuda);
            Slot slot(weights_, options, shape);
            slot.prepare(*denoiser, stream);
            const auto ours = slot.denoise(*denoiser, windows_of(weights_, shape), stream);
            EXPECT_LT(errors.add(precision, relative_difference(ours, expected)), tolerance_of(precision))
                << name << ", graph " << graph;
            EXPECT_EQ(denoiser->remark(), "") << name << ", graph " << graph;
        }
}

TEST_P(GpuEngine, FusedSumsTakeNoMapMore) {
    const Shape shape{.n = 4, .h = 128, .w = 128};
    device::Stream stream(kCuda);
    const auto taken_by = [&](bool fusion) {
        EngineOptions options = options_;
        options.precision = Precision::bf16;  // in fp32 cuDNN's workspaces take more than the maps
        options.fusion = fusion;
        const auto denoiser = make_denoiser(weights_, options);
        Slot slot(weights_, options, shape);
        slot.prepare(*denoiser, stream);
        reset_allocator_peaks(kCuda);
        slot.forward(*denoiser, stream);
        stream.synchronise();
        const auto counters = allocator_counters(kCuda);
        return static_cast<double>(counters.peak_allocated_bytes - counters.allocated_bytes);
    };
    const double most =
        GetParam() == network::kind_of<network::DrunetShape>() ? 0.8 : 1.05;  // DRUNet: 3 maps in place of 4
    EXPECT_LT(taken_by(true), most * taken_by(false));
}

TEST_P(GpuEngine, SlotsAndGraphsGiveTheBytesOfOneEagerCall) {
    constexpr int kSlots = 3;
    const Shape shape{.n = 4, .h = 64, .w = 64};
    device::Stream stream(kCuda);
    const auto eager = make_denoiser(weights_, options_);
    Slot alone(weights_, options_, shape);
    alone.prepare(*eager, stream);
    for (const bool graph : {false, true}) {
        EngineOptions options = options_;
        options.cuda_graph = graph;
        const auto denoiser = make_denoiser(weights_, options);
        std::vector<Slot> slots;
        for (int i = 0; i < kSlots; ++i) {
            slots.emplace_back(weights_, options, shape);
            slots.back().prepare(*denoiser, stream);
        }
        for (int round = 0; round < 2; ++round) {
            const auto seed = [round](int slot) { return static_cast<uint64_t>(10 * round + slot); };
            for (int i = 0; i < kSlots; ++i) slots[i].load(windows_of(weights_, shape, seed(i)), stream);
            for (auto& slot : slots) slot.forward(*denoiser, stream);
            for (int i = 0; i < kSlots; ++i)
                EXPECT_TRUE(slots[i].result(stream) ==
                            alone.denoise(*eager, windows_of(weights_, shape, seed(i)), stream))
                    << "graph " << graph << ", slot " << i << ", round " << round;
        }
    }
}

TEST_P(GpuEngine, ANewShapeMayBePreparedAfterAnother) {
    EngineOptions options = options_;
    options.cuda_graph = true;
    const auto denoiser = make_denoiser(weights_, options);
    device::Stream stream(kCuda);
    for (const int64_t edge : {64, 128, 64}) {
        const Shape shape{.n = 1, .h = edge, .w = edge};
        Slot slot(weights_, options, shape);
        slot.prepare(*denoiser, stream);
        const auto ours = slot.denoise(*denoiser, windows_of(weights_, shape), stream);
        EXPECT_LT(relative_difference(ours, denoise(weights_, {}, shape)), tolerance_of(Precision::fp32)) << edge;
    }
}

TEST_P(GpuEngine, NothingIsAllocatedOncePrepared) {
    for (const bool graph : {false, true}) {
        EngineOptions options = options_;
        options.cuda_graph = graph;
        const auto denoiser = make_denoiser(weights_, options);
        device::Stream stream(kCuda);
        const Shape shape{.n = 4, .h = 128, .w = 128};
        std::vector<Slot> slots;
        for (int i = 0; i < 2; ++i) {
            slots.emplace_back(weights_, options, shape);
            slots.back().prepare(*denoiser, stream);
        }
        reset_allocator_peaks(kCuda);
        const auto before = allocator_counters(kCuda);
        for (int i = 0; i < 6; ++i) slots[i % 2].forward(*denoiser, stream);
        stream.synchronise();
        const auto after = allocator_counters(kCuda);
        EXPECT_EQ(after.num_allocations, before.num_allocations) << "graph " << graph;
        EXPECT_EQ(after.peak_reserved_bytes, before.reserved_bytes) << "graph " << graph;
        EXPECT_EQ(after.allocated_bytes, before.allocated_bytes) << "graph " << graph;
    }
}

TEST_P(GpuEngine, WhatAGraphWorksInIsWhatAnEagerCallTakes) {
    const Shape shape{.n = 4, .h = 128, .w = 128};
    device::Stream stream(kCuda);
    const auto taken_by = [&](bool graph) {
        EngineOptions options = options_;
        options.cuda_graph = graph;
        const auto denoiser = make_denoiser(weights_, options);
        Slot first(weights_, options, shape), second(weights_, options, shape);
        first.prepare(*denoiser, stream);
        const int64_t reserved = allocator_counters(kCuda).reserved_bytes;
        second.prepare(*denoiser, stream);
        EXPECT_LE(allocator_counters(kCuda).reserved_bytes, reserved) << "slots share it";
        reset_allocator_peaks(kCuda);
        first.forward(*denoiser, stream);
        stream.synchronise();
        const auto counters = allocator_counters(kCuda);
        return counters.peak_allocated_bytes - counters.allocated_bytes + denoiser->replay_bytes();
    };
    const auto eager = static_cast<double>(taken_by(false));
    EXPECT_GT(eager, 0);
    EXPECT_NEAR(static_cast<double>(taken_by(true)) / eager, 1, 0.1);
}

TEST_P(GpuEngine, RunsOutOfMemoryUnderACapAndRecovers) {
    for (const bool graph : {false, true}) {
        EngineOptions options = options_;
        options.cuda_graph = graph;
        const auto denoiser = make_denoiser(weights_, options);
        device::Stream stream(kCuda);
        const Shape shape{.n = 2, .h = 64, .w = 64};
        const auto values = windows_of(weights_, shape);
        Slot slot(weights_, options, shape);
        slot.prepare(*denoiser, stream);
        const auto expected = slot.denoise(*denoiser, values, stream);
        {
            Slot large(weights_, options, {.n = 4, .h = 1024, .w = 1024});  // 2 GiB of activations at least
            const int64_t held = allocator_counters(kCuda).allocated_bytes;
            set_memory_limit(kCuda, allocator_counters(kCuda).reserved_bytes + (int64_t{512} << 20));
            EXPECT_THROW(large.prepare(*denoiser, stream), OutOfMemory);
            EXPECT_THROW(large.forward(*denoiser, stream), OutOfMemory);
            set_memory_limit(kCuda, 0);
            stream.synchronise();
            EXPECT_LE(allocator_counters(kCuda).allocated_bytes, held);
            EXPECT_NO_THROW(large.prepare(*denoiser, stream));
        }
        slot.prepare(*denoiser, stream);
        EXPECT_TRUE(slot.denoise(*denoiser, values, stream) == expected) << "graph " << graph;
        EXPECT_GT(torch_library().conv_tflops({.device = kCuda}, 0.01), 0)
            << "random values are drawn again, graph " << graph;
    }
}

TEST_P(GpuEngine, PrecisionsLiveSideBySide) {
    const Shape shape{.n = 1, .h = 64, .w = 64};
    const auto values = windows_of(weights_, shape);
    device::Stream stream(kCuda);
    const EngineOptions exact = options_;
    const EngineOptions fast{.device = kCuda, .precision = Precision::tf32, .cudnn_benchmark = true};
    const auto fp32 = make_denoiser(weights_, exact);
    const auto tf32 = make_denoiser(weights_, fast);
    Slot slot(weights_, exact, shape), other(weights_, fast, shape);
    slot.prepare(*fp32, stream);
    other.prepare(*tf32, stream);
    const auto expected = slot.denoise(*fp32, values, stream);
    const auto rounded = other.denoise(*tf32, values, stream);
    EXPECT_TRUE(slot.denoise(*fp32, values, stream) == expected);
    EXPECT_FALSE(rounded == expected);
}

TEST_P(GpuEngine, BatchesOfMoreThan2To31ElementsAreRight) {
    const Shape one{.n = 1, .h = 1024, .w = 1024};
    const auto widest = static_cast<int64_t>(network::network_facts(GetParam()).widest_map);
    Shape many = one;
    many.n = (int64_t{1} << 31) / (widest * one.pixels()) + 1;
    const int64_t needed = many.pixels() * 1200;  // bytes: activations in bf16, samples, input, output
    if (device::device_memory(kCuda).free_bytes < needed + (int64_t{4} << 30))
        GTEST_SKIP() << "needs " << needed / (1 << 30) + 4 << " GiB of device memory";
    const EngineOptions options{.device = kCuda, .precision = Precision::bf16};
    const auto denoiser = make_denoiser(weights_, options);
    device::Stream stream(kCuda);
    const auto values = windows_of(weights_, many);
    const auto count = one.pixels() * weights_.channels();
    std::vector<float> ours;
    {
        Slot slot(weights_, options, many);
        ours = slot.denoise(*denoiser, values, stream);
    }
    Slot slot(weights_, options, one);
    for (const int64_t n : {int64_t{0}, many.n / 2, many.n - 1}) {
        const auto window = [&](const std::vector<float>& all) {
            return std::vector<float>(all.begin() + n * count, all.begin() + (n + 1) * count);
        };
        const auto alone = slot.denoise(*denoiser, window(values), stream);
        EXPECT_LT(relative_difference(window(ours), alone), tolerance_of(Precision::bf16)) << "window " << n;
    }
    empty_allocator_cache(kCuda);
}

class GpuMemory : public GpuTest {};

TEST_F(GpuMemory, BuffersAreCountedCappedAndAligned) {
    empty_allocator_cache(kCuda);
    constexpr int64_t kBytes = int64_t{256} << 20;
    const int64_t before = allocator_counters(kCuda).allocated_bytes;
    {
        const EngineBuffer buffer(kCuda, kBytes);
        EXPECT_EQ(allocator_counters(kCuda).allocated_bytes, before + kBytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.pointer()) % 64, 0U);
    }
    EXPECT_EQ(allocator_counters(kCuda).allocated_bytes, before);
    empty_allocator_cache(kCuda);
    set_memory_limit(kCuda, allocator_counters(kCuda).reserved_bytes + kBytes / 2);
    EXPECT_THROW(EngineBuffer(kCuda, kBytes), OutOfMemory);
    set_memory_limit(kCuda, 0);
    EXPECT_NO_THROW(EngineBuffer(kCuda, kBytes));
}

TEST_F(GpuMemory, UpperBoundsLeaveNothing) {
    constexpr double kBriefly = 0.01;  // s
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        const EngineOptions options{.device = kCuda, .precision = precision};
        const int64_t before = allocator_counters(kCuda).allocated_bytes;
        EXPECT_GT(torch_library().matmul_tflops(options, kBriefly), 0);
        EXPECT_GT(torch_library().conv_tflops(options, kBriefly), 0);
        EXPECT_EQ(allocator_counters(kCuda).allocated_bytes, before) << name_of(precision);
    }
}

TEST_F(GpuMemory, ADeviceThatIsNotThereIsAUsageError) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, kSeed);
    EXPECT_THROW((void)make_denoiser(weights, {.device = {DeviceKind::cuda, 1000}}), UsageError);
}

TEST_F(GpuMemory, CudnnIsTheOneCompiledAgainst) {
    bool found = false;
    for (const auto& version : engine_versions()) {
        EXPECT_EQ(version.loaded, version.header) << version.library;
        found = found || version.library == "cudnn";
    }
    EXPECT_TRUE(found);
}

}  // namespace
}  // namespace pb::engine
