// The pipeline of a GPU rank on the CPU, where every copy and kernel runs at its call: the host pipeline's bits,
// whatever the slots and batches; and what it does when a pass is broken off. Its order on streams: fakes/cudart.
#include "base/fault.hpp"
#include "comm/interruption.hpp"
#include "run/pipeline/row_device.hpp"
#include "support/band_scene.hpp"
#include "support/blend_denoiser.hpp"
#include "support/pipeline_scene.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

namespace pb::test {
namespace {

/// A pipeline over a scene, and what its next pass needs.
class Bench {
  public:
    explicit Bench(const PipelineCase& chosen)
        : scene(chosen),
          work(scene.work()),
          pipeline(run::make_device_pipeline(denoiser, work, chosen.options, chosen.channels, chosen.samples)),
          batches(work.batches()) {}

    /// What a pass makes that writes each pixel once.
    Made made() { return made_by_pass(scene, *pipeline, batches, log); }
    void pass(run::WindowSource& windows, run::CoreSink& output) {
        batches.begin_pass();
        pipeline->pass(batches, windows, output, log);
    }

    BlendDenoiser denoiser;
    PipelineScene scene;
    run::Work work;
    std::unique_ptr<run::Pipeline> pipeline;
    run::BatchQueue batches;
    run::PassLog log;
};

/// An engine in a process of its own, which takes windows to the device and back by itself.
class BlendElsewhere final : public engine::Denoiser {
  public:
    static constexpr engine::CopySeconds kCopies{1e-5, 2e-5};

    void prepare(const BatchView&, const BatchView&, device::Stream&) override {}
    void forward(const BatchView& in, const BatchView& out, device::Stream& stream) override {
        EXPECT_EQ(in.device, DeviceId{});
        EXPECT_EQ(out.device, DeviceId{});
        blend_.forward(in, out, stream);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    [[nodiscard]] bool takes_host_memory() const override { return true; }
    [[nodiscard]] engine::CopySeconds copies_of_call() const override { return kCopies; }

  private:
    BlendDenoiser blend_;
};

TEST(DeviceElsewhere, GetsWindowsInHostMemoryAndItsCopiesAreStages) {
    PipelineCase chosen;
    chosen.options.device = {DeviceKind::cuda, 0};  // there is none here, and none is used
    PipelineScene scene(chosen);
    const run::Work work = scene.work();
    BlendElsewhere elsewhere;
    const auto pipeline = run::make_pipeline(elsewhere, work, chosen.options, chosen.channels, chosen.samples);
    run::BatchQueue batches(work.batches());
    run::PassLog log;
    BlendDenoiser here;
    EXPECT_EQ(made_by_pass(scene, *pipeline, batches, log), made_by_host(chosen, here));
    const auto seconds = [&](record::Stage stage) { return log.stages[static_cast<size_t>(stage)]; };
    const auto num_batches = static_cast<double>(batches.taken().size());
    EXPECT_NEAR(seconds(record::Stage::h2d), num_batches * BlendElsewhere::kCopies.to_device, 1e-8);
    EXPECT_NEAR(seconds(record::Stage::d2h), num_batches * BlendElsewhere::kCopies.to_host, 1e-8);
    EXPECT_GE(seconds(record::Stage::forward), num_batches * 2e-5);
}

using Way = std::tuple<int64_t, config::LastBatch, bool>;  // slots, last batch, overlap

PipelineCase case_of(const Way& way) {
    PipelineCase chosen;
    std::tie(chosen.options.slots, chosen.last_batch, chosen.options.overlap) = way;
    chosen.options.copy_threads = static_cast<int>(chosen.options.slots);
    return chosen;
}

TEST(CopyThreads, AreAFewOnAGpuAndOneOnACpu) {
    EXPECT_EQ(run::copy_threads_of({DeviceKind::cuda, 0}, 3), 3);
    EXPECT_EQ(run::copy_threads_of({DeviceKind::cuda, 0}, 64), 8);
    EXPECT_EQ(run::copy_threads_of({DeviceKind::cuda, 0}, 0), 1);
    EXPECT_EQ(run::copy_threads_of({DeviceKind::cpu, 0}, 64), 1);
}

TEST(CopyThreads, LeaveStreamedWindowsAndCoresToOneThread) {
    PipelineCase chosen;
    chosen.options.copy_threads = 3;
    Bench bench(chosen);
    std::mutex mutex;
    std::set<std::thread::id> readers, writers;
    const auto note = [&mutex](std::set<std::thread::id>& threads) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
    };
    SceneWindows windows(bench.scene, [&] { note(readers); });
    SceneSink output(bench.scene, [&](const Rect&) { note(writers); });
    bench.pass(windows, output);
    EXPECT_EQ(readers, std::set{std::this_thread::get_id()});
    EXPECT_EQ(writers, std::set{std::this_thread::get_id()});
    EXPECT_TRUE(output.every_pixel_was_written_once());
}

class DevicePipelineOnCpu : public testing::TestWithParam<Way> {
  protected:
    void TearDown() override {
        unsetenv("PATCHBENCH_FAULT");
        restart_faults();
    }
};

std::string way_name(const testing::TestParamInfo<Way>& way) {
    const auto [slots, last_batch, overlap] = way.param;
    return std::to_string(slots) + (last_batch == config::LastBatch::pad ? "_pad" : "_ragged") +
           (overlap ? "_overlap" : "");
}

INSTANTIATE_TEST_SUITE_P(Ways, DevicePipelineOnCpu,
                         testing::Combine(testing::Values(1, 2, 3),
                                          testing::Values(config::LastBatch::pad, config::LastBatch::ragged),
                                          testing::Bool()),
                         way_name);

TEST_P(DevicePipelineOnCpu, GivesTheBitsOfTheHostPipelineAndLosesTheSame) {
    for (const DType samples : {DType::u8, DType::u16, DType::f32})
        for (const Precision precision : {Precision::fp32, Precision::bf16})
            for (const Layout layout : {Layout::channels_last, Layout::contiguous})
                for (const int64_t batch : {1, 4, 7, 15, 30}) {
                    PipelineCase chosen = case_of(GetParam());
                    chosen.samples = samples;
                    chosen.batch = batch;
                    chosen.options.values = storage_of(precision);
                    chosen.options.layout = layout;
                    chosen.options.conversion.gain = 0.83F;
                    if (batch != 7) chosen.options.conversion.sigma = 0.1F;
                    BlendDenoiser denoiser;
                    const auto expected = made_by_host(chosen, denoiser);
                    EXPECT_EQ(expected.all_lost() > 0, !is_float(samples));
                    Bench bench(chosen);
                    EXPECT_EQ(bench.made(), expected) << "batches of " << batch;
                    EXPECT_EQ(bench.made(), expected) << "second pass, batches of " << batch;
                }
}

TEST_P(DevicePipelineOnCpu, LogsEveryStageOfEveryBatchOnce) {
    Bench bench(case_of(GetParam()));
    run::SpanLog spans(100);
    bench.log.spans = &spans;
    (void)bench.made();
    std::map<std::pair<record::Stage, int64_t>, int> times;
    for (const record::Span& span : spans.spans()) {
        EXPECT_LE(span.begin_s, span.end_s);
        ++times[{span.stage, span.batch}];
    }
    EXPECT_EQ(times.size(), 5 * bench.work.batches().size());
    EXPECT_EQ(spans.spans().size(), times.size());
}

/// A batch is asked for when there is room for it: a rank that hoards batches leaves none to faster ranks.
TEST_P(DevicePipelineOnCpu, TakesNoBatchBeforeThereIsRoom) {
    Bench bench(case_of(GetParam()));
    const auto [slots, last_batch, overlap] = GetParam();
    const size_t most = overlap ? static_cast<size_t>(slots) : 1;
    size_t windows_written = 0;
    SceneSink output(bench.scene, [&](const Rect&) {
        const size_t batches_written = windows_written++ / static_cast<size_t>(bench.work.batch);
        const size_t in_flight = bench.batches.taken().size() - batches_written;
        const size_t tail = last_batch == config::LastBatch::ragged && overlap ? 1 : 0;  // it has a slot of its own
        EXPECT_LE(in_flight, most + tail) << "batch " << batches_written;
    });
    SceneWindows windows(bench.scene);
    bench.pass(windows, output);
}

TEST_P(DevicePipelineOnCpu, ASignalEndsThePassAndTheNextOneIsWhole) {
    BlendDenoiser denoiser;
    const auto expected = made_by_host(case_of(GetParam()), denoiser);
    Bench bench(case_of(GetParam()));
    for (int at = 1; at <= 15; ++at) {
        int num_windows = 0;
        SceneWindows windows(bench.scene, [&] {
            if (++num_windows == at) std::raise(SIGTERM);
        });
        SceneSink output(bench.scene);
        {
            const comm::InterruptionGuard guard;
            EXPECT_THROW(bench.pass(windows, output), Interrupted);
        }
        const comm::InterruptionGuard forgets_the_signal;
        ASSERT_EQ(bench.made(), expected) << "after a signal at window " << at;
    }
}

TEST_P(DevicePipelineOnCpu, AFaultEndsThePassAndTheNextOneIsWhole) {
    BlendDenoiser denoiser;
    const auto expected = made_by_host(case_of(GetParam()), denoiser);
    Bench bench(case_of(GetParam()));
    for (const std::string stage : {"gather", "forward"})
        for (int at = 1; at <= 4; ++at) {
            setenv("PATCHBENCH_FAULT", (stage + ":throw:" + std::to_string(at)).c_str(), 1);
            restart_faults();
            SceneWindows windows(bench.scene);
            SceneSink output(bench.scene);
            EXPECT_THROW(bench.pass(windows, output), Error);
            unsetenv("PATCHBENCH_FAULT");
            ASSERT_EQ(bench.made(), expected) << "after a fault at " << stage << " " << at;
        }
}

/// Computes nothing outside of cores, of which the pass is told.
class CroppedBlend final : public engine::Denoiser {
  public:
    void prepare(const BatchView&, const BatchView&, device::Stream&) override { ADD_FAILURE() << "whole windows"; }
    void forward(const BatchView&, const BatchView&, device::Stream&) override { ADD_FAILURE() << "whole windows"; }
    [[nodiscard]] std::unique_ptr<engine::CropPass> make_crop_pass(const network::WindowCrop&, int64_t n,
                                                                   device::Stream& stream) override {
        return std::make_unique<Pass>(n, stream);
    }

  private:
    class Pass final : public engine::CropPass {
      public:
        Pass(int64_t n, device::Stream& stream) : n_(n), stream_(stream) {}
        void run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) override {
            EXPECT_LE(in.shape.n, n_);
            ASSERT_EQ(std::ssize(cores), in.shape.n);
            blend_.forward(in, out, stream_);
            auto* values = static_cast<float*>(out.pointer);
            for (int64_t i = 0; i < out.shape.n; ++i)
                for (int64_t pixel = 0; pixel < out.shape.h * out.shape.w; ++pixel, values += out.shape.c)
                    if (!holds(cores[static_cast<size_t>(i)], pixel / out.shape.w, pixel % out.shape.w))
                        std::fill_n(values, out.shape.c, HUGE_VALF);
        }
        [[nodiscard]] std::vector<engine::StepTime> run_by_steps(const BatchView&, const BatchView&,
                                                                 std::span<const Rect>) override {
            return {};
        }

      private:
        static bool holds(const Rect& core, int64_t row, int64_t column) {
            return row >= core.row && row < core.row + core.extent.h && column >= core.column &&
                   column < core.column + core.extent.w;
        }

        int64_t n_;
        device::Stream& stream_;
        BlendDenoiser blend_;
    };
};

TEST_P(DevicePipelineOnCpu, ComputesTheCoresOfEachBatchWhereWindowsAreCropped) {
    for (const int64_t batch : {1, 4, 7, 15}) {
        PipelineCase chosen = case_of(GetParam());
        chosen.batch = batch;
        PipelineScene scene(chosen);
        run::Work work = scene.work();
        work.crop = std::make_shared<const network::WindowCrop>(network::graph_of(network::DncnnShape{}), work.window,
                                                                std::vector<Range>{{0, 8}}, std::vector<Range>{{0, 8}});
        CroppedBlend cropped;
        const auto pipeline = run::make_device_pipeline(cropped, work, chosen.options, chosen.channels, chosen.samples);
        run::BatchQueue batches(work.batches());
        run::PassLog log;
        BlendDenoiser whole;
        EXPECT_EQ(made_by_pass(scene, *pipeline, batches, log), made_by_host(chosen, whole)) << batch;
        EXPECT_GT(pipeline->forward_call(), 0);
    }
}

TEST(DeviceBands, GiveTheBitsOfTheHostAndLogEveryStage) {
    const engine::Weights weights = engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 16}, 1);
    const auto denoiser = engine::make_denoiser(weights, {.engine = EngineKind::native});
    const BandScene bands(weights.graph(), network::ComputedUnit::tile);
    const run::Work work = bands.work();
    for (const DType samples : {DType::u8, DType::u16, DType::f32}) {
        PipelineCase chosen;
        chosen.samples = samples;
        chosen.options.conversion.gain = 0.83F;
        PipelineScene scene(chosen);
        run::BatchQueue batches(work.batches());
        run::PassLog log, log_of_host;
        const run::RowRoom room = run::row_room(work, chosen.channels);
        const auto host = run::make_band_pipeline(*denoiser, run::make_host_rows(chosen.options, room), work);
        const auto expected = made_by_pass(scene, *host, batches, log_of_host);
        const auto pipeline =
            run::make_band_pipeline(*denoiser, run::make_device_rows(chosen.options, samples, room), work);
        EXPECT_EQ(made_by_pass(scene, *pipeline, batches, log), expected);
        EXPECT_GT(pipeline->forward_call(), 0);
        run::SpanLog spans(100);
        log.spans = &spans;
        EXPECT_EQ(made_by_pass(scene, *pipeline, batches, log), expected) << "second pass";
        std::map<record::Stage, int64_t> times;
        for (const record::Span& span : spans.spans()) ++times[span.stage];
        EXPECT_EQ(times[record::Stage::forward], bands.schedule().num_steps());
        EXPECT_EQ(times[record::Stage::d2h], work.windows.size());
        EXPECT_EQ(times[record::Stage::scatter], work.windows.size());
        EXPECT_GE(times[record::Stage::h2d], work.windows.size() - 1);
    }
}

TEST(DevicePipeline, PreparesASlotForEachShapeAndNoneForNothing) {
    PipelineCase chosen;
    chosen.options.slots = 3;
    EXPECT_EQ(Bench(chosen).denoiser.num_prepared(), 3);
    chosen.last_batch = config::LastBatch::ragged;
    EXPECT_EQ(Bench(chosen).denoiser.num_prepared(), 4);
    chosen.batch = 8;  // two batches
    EXPECT_EQ(Bench(chosen).denoiser.num_prepared(), 2);

    const PipelineScene scene(chosen);
    const run::Work nothing = scene.work_of({});
    BlendDenoiser denoiser;
    const auto idle = run::make_device_pipeline(denoiser, nothing, chosen.options, chosen.channels, chosen.samples);
    EXPECT_EQ(denoiser.num_prepared(), 0);
    EXPECT_EQ(idle->forward_call(), 0);
    EXPECT_GT(Bench(chosen).pipeline->forward_call(), 0);
}

}  // namespace
}  // namespace pb::test
