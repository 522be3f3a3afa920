// The pipeline of a GPU rank over the fake runtime, where streams run late and in any order that events allow:
// thousands of seeds, each another order, another case and another end.
#include "base/fault.hpp"
#include "blend_on_device.hpp"
#include "comm/interruption.hpp"
#include "fake_cuda.hpp"
#include "support/band_scene.hpp"
#include "support/blend_denoiser.hpp"
#include "support/pipeline_scene.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <tuple>

namespace pb::test {
namespace {

constexpr uint64_t kSeeds = 2000;    // of the order of work
constexpr uint64_t kFewSeeds = 300;  // of what is rarer

template <class Value>
Value pick(std::mt19937_64& random, std::initializer_list<Value> values) {
    return values.begin()[random() % values.size()];
}

PipelineCase random_case(std::mt19937_64& random) {
    PipelineCase chosen;
    chosen.samples = pick(random, {DType::u8, DType::u16, DType::f32});
    chosen.channels = pick<int64_t>(random, {1, 3});
    chosen.batch = pick<int64_t>(random, {1, 2, 4, 7, 15});
    chosen.last_batch = pick(random, {config::LastBatch::pad, config::LastBatch::ragged});
    chosen.options.device = {DeviceKind::cuda, pick(random, {0, 1})};
    chosen.options.values = pick(random, {DType::f32, DType::bf16, DType::f16});
    chosen.options.layout = pick(random, {Layout::channels_last, Layout::contiguous});
    chosen.options.slots = pick<int64_t>(random, {1, 2, 3});
    chosen.options.overlap = pick(random, {true, true, true, false});
    if (pick(random, {true, false})) chosen.options.conversion.sigma = 0.1F;
    return chosen;
}

/// The host pipeline's pixels; those of a case that came before are kept.
const std::vector<std::byte>& expected_pixels(const PipelineCase& chosen) {
    static std::map<std::tuple<DType, int64_t, DType, bool>, std::vector<std::byte>> known;
    const auto key =
        std::tuple(chosen.samples, chosen.channels, chosen.options.values, chosen.options.conversion.sigma.has_value());
    if (!known.contains(key)) {
        BlendDenoiser denoiser;
        known[key] = host_pixels(chosen, denoiser);
    }
    return known.at(key);
}

/// A machine, a pipeline on one of its devices, and passes over a scene.
class DeviceBench {
  public:
    DeviceBench(uint64_t seed, const PipelineCase& chosen, size_t device_bytes = size_t{1} << 30)
        : machine({seed, 2, device_bytes}),
          scene(chosen),
          work(scene.work()),
          pipeline(run::make_device_pipeline(denoiser, work, chosen.options, chosen.channels, chosen.samples)),
          batches(work.batches()) {}

    void pass(run::WindowSource& windows, run::CoreSink& output) {
        batches.begin_pass();
        pipeline->pass(batches, windows, output, log);
    }
    void expect_whole_pass(const PipelineCase& chosen) {
        SceneWindows windows(scene);
        SceneSink output(scene);
        pass(windows, output);
        EXPECT_TRUE(output.every_pixel_was_written_once());
        EXPECT_TRUE(output.pixels() == expected_pixels(chosen));
    }
    /// A pass whose gather throws at its window `at`; true when it came so far.
    bool broken_pass(int at) {
        int num_windows = 0;
        SceneWindows windows(scene, [&] {
            if (++num_windows == at) throw Error("a window that cannot be read");
        });
        SceneSink output(scene);
        try {
            pass(windows, output);
        } catch (const Error&) {
            return true;
        }
        return false;
    }

    fakes::FakeCuda machine;
    fakes::BlendOnDevice denoiser;
    PipelineScene scene;
    run::Work work;
    std::unique_ptr<run::Pipeline> pipeline;
    run::BatchQueue batches;
    run::PassLog log;
};

/// Calls `check(seed, case, random)` for all seeds, until one fails.
template <class Check>
void for_seeds(uint64_t num_seeds, const Check& check) {
    for (uint64_t seed = 1; seed <= num_seeds && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        const PipelineCase chosen = random_case(random);
        check(seed, chosen, random);
    }
}

TEST(PipelineOverFakeCuda, GivesTheBitsOfTheHostPipelineInAnyOrder) {
    int most_busy = 0;
    for_seeds(kSeeds, [&](uint64_t seed, const PipelineCase& chosen, std::mt19937_64& random) {
        DeviceBench bench(seed, chosen);
        run::SpanLog spans(1000);
        if (pick(random, {true, false})) bench.log.spans = &spans;
        bench.expect_whole_pass(chosen);
        const double call_s = pick(random, {true, false}) ? bench.pipeline->forward_call() : 0;
        EXPECT_GE(call_s, 0);
        bench.expect_whole_pass(chosen);
        most_busy = std::max(most_busy, bench.machine.most_busy_streams());
    });
    EXPECT_EQ(most_busy, 3) << "copies in, kernels and copies out are in flight at once";
}

TEST(PipelineOverFakeCuda, WithoutOverlapOneStreamWorksAtATime) {
    for_seeds(kFewSeeds, [&](uint64_t seed, PipelineCase chosen, std::mt19937_64&) {
        chosen.options.overlap = false;
        DeviceBench bench(seed, chosen);
        bench.expect_whole_pass(chosen);
        EXPECT_EQ(bench.machine.most_busy_streams(), 1);
    });
}

/// What is in flight when a pass breaks off may go on until the buffers are needed, or freed.
TEST(PipelineOverFakeCuda, APassThatBreaksOffHarmsNothing) {
    int num_broken = 0;
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& chosen, std::mt19937_64& random) {
        DeviceBench bench(seed, chosen);
        num_broken += bench.broken_pass(static_cast<int>(1 + random() % 20)) ? 1 : 0;
        if (pick(random, {true, false})) bench.expect_whole_pass(chosen);
    });
    EXPECT_GT(num_broken, static_cast<int>(kFewSeeds / 2));
}

TEST(PipelineOverFakeCuda, ASignalAndFaultsHarmNothing) {
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& chosen, std::mt19937_64& random) {
        const comm::InterruptionGuard guard;
        const auto stage = pick<std::string>(random, {"gather", "forward", "signal"});
        setenv("PATCHBENCH_FAULT", (stage + ":throw:" + std::to_string(1 + random() % 4)).c_str(), 1);
        restart_faults();
        DeviceBench bench(seed, chosen);
        SceneWindows windows(bench.scene, [&] {
            if (stage == "signal") std::raise(SIGTERM);
        });
        SceneSink output(bench.scene);
        try {
            bench.pass(windows, output);
        } catch (const Error&) {
        }
        unsetenv("PATCHBENCH_FAULT");
        const comm::InterruptionGuard forgets_the_signal;
        bench.expect_whole_pass(chosen);
    });
}

/// One that the picture itself comes back through: without a map of the noise level, in a type that holds its samples.
PipelineCase case_of_bands(PipelineCase chosen) {
    chosen.options.conversion.sigma.reset();
    chosen.options.layout = Layout::channels_last;
    if (chosen.samples != DType::u8 || chosen.options.values == DType::bf16) chosen.options.values = DType::f32;
    return chosen;
}

TEST(PipelineOverFakeCuda, CarriesRowsInAnyOrder) {
    const BandScene bands(network::graph_of(network::DncnnShape{.depth = 4}));
    const run::Work work = bands.work();
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& any, std::mt19937_64& random) {
        const PipelineCase chosen = case_of_bands(any);
        const fakes::FakeCuda machine({seed, 2, size_t{1} << 30});
        PipelineScene scene(chosen);
        KeptRowsDenoiser denoiser(chosen);
        const auto pipeline =
            run::make_device_band_pipeline(denoiser, work, chosen.options, chosen.channels, chosen.samples);
        run::BatchQueue batches(work.batches());
        run::PassLog log;
        const run::Slab picture = scene.input();
        const std::vector<std::byte> expected(picture.pixels.pixels, picture.pixels.pixels + picture.pixels.bytes());
        EXPECT_TRUE(pixels_of_pass(scene, *pipeline, batches, log) == expected);
        SceneWindows windows(scene, [reads = random() % 3]() mutable {
            if (reads-- == 0) throw Error("rows that cannot be read");
        });
        SceneSink output(scene);
        batches.begin_pass();
        EXPECT_THROW(pipeline->pass(batches, windows, output, log), Error);
        EXPECT_TRUE(pixels_of_pass(scene, *pipeline, batches, log) == expected) << "after a pass that broke off";
        EXPECT_GT(pipeline->forward_call(), 0);
    });
}

TEST(PipelineOverFakeCuda, OutOfMemoryLeavesNothingBehind) {
    int num_refused = 0;
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& chosen, std::mt19937_64& random) {
        try {
            DeviceBench bench(seed, chosen, 1000 + random() % 100000);
            bench.expect_whole_pass(chosen);
        } catch (const OutOfMemory&) {
            ++num_refused;
        }
    });
    EXPECT_GT(num_refused, static_cast<int>(kFewSeeds / 10));
    EXPECT_LT(num_refused, static_cast<int>(kFewSeeds));
}

}  // namespace
}  // namespace pb::test
