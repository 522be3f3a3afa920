// The pipeline of a GPU rank over the fake runtime, where streams run late and in any order that events allow:
// thousands of seeds, each another order, another case and another end.
#include "base/fault.hpp"
#include "blend_on_device.hpp"
#include "comm/interruption.hpp"
#include "fake_cuda.hpp"
#include "run/pipeline/slab_run.hpp"
#include "support/band_scene.hpp"
#include "support/blend_denoiser.hpp"
#include "support/messages.hpp"
#include "support/pipeline_scene.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
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
    chosen.options.copy_threads = pick(random, {1, 1, 3});
    if (pick(random, {true, false})) chosen.options.conversion.sigma = 0.1F;
    return chosen;
}

/// What the host pipeline makes; of a case that came before it is kept.
const Made& expected_of(const PipelineCase& chosen) {
    static std::map<std::tuple<DType, int64_t, DType, bool>, Made> known;
    const auto key =
        std::tuple(chosen.samples, chosen.channels, chosen.options.values, chosen.options.conversion.sigma.has_value());
    if (!known.contains(key)) {
        BlendDenoiser denoiser;
        known[key] = made_by_host(chosen, denoiser);
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
        EXPECT_TRUE(output.made().pixels == expected_of(chosen).pixels);
        EXPECT_EQ(output.made().num_lost, expected_of(chosen).num_lost);
    }
    /// A pass whose gather throws at its window `at`; true when it came so far.
    bool broken_pass(int at) {
        int num_windows = 0;
        SceneWindows windows(scene, [&] {
            if (++num_windows == at) throw Error("a window that cannot be read");
        });
        SceneSink output(scene);
        return error_of<Error>([&] { pass(windows, output); }) != kNotThrown;
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
        (void)error_of<Error>([&] { bench.pass(windows, output); });
        unsetenv("PATCHBENCH_FAULT");
        const comm::InterruptionGuard forgets_the_signal;
        bench.expect_whole_pass(chosen);
    });
}

/// One that the picture itself comes back through, where it is finite: without a map of the noise level, in a type that
/// holds its samples.
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
        const auto pipeline = run::make_band_pipeline(
            denoiser, run::make_device_rows(chosen.options, chosen.samples, run::row_room(work, chosen.channels)),
            work);
        run::BatchQueue batches(work.batches());
        run::PassLog log;
        const Made expected = made_of_kept_rows(scene, chosen, bands.schedule().shape().band);
        EXPECT_TRUE(made_by_pass(scene, *pipeline, batches, log) == expected);
        SceneWindows windows(scene, [reads = random() % 3]() mutable {
            if (reads-- == 0) throw Error("rows that cannot be read");
        });
        SceneSink output(scene);
        batches.begin_pass();
        EXPECT_THROW(pipeline->pass(batches, windows, output, log), Error);
        EXPECT_TRUE(made_by_pass(scene, *pipeline, batches, log) == expected) << "after a pass that broke off";
        EXPECT_GT(pipeline->forward_call(), 0);
        EXPECT_EQ(pipeline->replay_bytes(), KeptRows::kReplayBytes);
    });
}

/// Gives the rows that it was given, after its first and its last row were exchanged. The first two pixels of its row 9
/// are infinite.
class ExchangedEnds final : public engine::SlabPass {
  public:
    static constexpr int64_t kInfiniteRow = 9;

    ExchangedEnds(const network::ExchangedSlab& slab, std::vector<std::byte> infinite, device::Stream& stream)
        : slab_(slab),
          infinite_(std::move(infinite)),
          row_bytes_(static_cast<size_t>(slab.shape().image.w) * infinite_.size()),
          own_(stream.device(), static_cast<size_t>(slab.shape().rows.size()) * row_bytes_),
          border_(stream.device(), 2 * row_bytes_),
          stream_(stream) {}

    void run(const void* in, void* out, engine::RowExchange* exchange) override {
        const Range owned = slab_.shape().rows;
        const size_t bytes = static_cast<size_t>(owned.size()) * row_bytes_, last = bytes - row_bytes_;
        const auto offset = static_cast<size_t>(owned.begin - slab_.held(0).begin) * row_bytes_;
        auto* const own = static_cast<std::byte*>(own_.pointer());
        auto* const border = static_cast<std::byte*>(border_.pointer());
        device::copy_on_device(own, static_cast<const std::byte*>(in) + offset, bytes, stream_);
        if (exchange != nullptr) {
            exchange->start({{own, row_bytes_}, {border, row_bytes_}},
                            {{own + last, row_bytes_}, {border + row_bytes_, row_bytes_}});
            exchange->finish();
            device::copy_on_device(own, border, row_bytes_, stream_);
            device::copy_on_device(own + last, border + row_bytes_, row_bytes_, stream_);
        }
        device::copy_on_device(out, own, bytes, stream_);
        std::byte* const row = static_cast<std::byte*>(out) + kInfiniteRow * row_bytes_;
        for (std::byte* pixel = row; pixel < row + 2 * infinite_.size(); pixel += infinite_.size())
            device::copy_to_device(pixel, infinite_.data(), infinite_.size(), stream_);
    }

  private:
    const network::ExchangedSlab& slab_;
    std::vector<std::byte> infinite_;
    size_t row_bytes_;
    engine::EngineBuffer own_, border_;
    device::Stream& stream_;
};

class ExchangedEndsDenoiser final : public engine::Denoiser {
  public:
    explicit ExchangedEndsDenoiser(const PipelineCase& chosen) : infinite_(infinite_pixel(chosen)) {}
    void prepare(const BatchView&, const BatchView&, device::Stream&) override {}
    void forward(const BatchView&, const BatchView&, device::Stream&) override {}
    [[nodiscard]] std::unique_ptr<engine::SlabPass> make_slab_pass(const network::ExchangedSlab& slab,
                                                                   device::Stream& stream) override {
        return std::make_unique<ExchangedEnds>(slab, infinite_, stream);
    }

  private:
    std::vector<std::byte> infinite_;
};

/// The neighbours of a slab, which send what it sends to the other one.
class Mirror final : public engine::RowExchange {
  public:
    void start(const BorderRows& above, const BorderRows& below) override { rows_ = {above, below}; }
    void finish() override {
        std::ranges::copy(rows_[0].sent, rows_[1].received.begin());
        std::ranges::copy(rows_[1].sent, rows_[0].received.begin());
    }

  private:
    std::array<BorderRows, 2> rows_;
};

/// The same from device to device, without waiting.
class MirrorOnDevice final : public engine::RowExchange {
  public:
    explicit MirrorOnDevice(device::Stream& stream) : stream_(stream) {}
    void start(const BorderRows& above, const BorderRows& below) override { rows_ = {above, below}; }
    void finish() override {
        for (size_t side = 0; side < rows_.size(); ++side)
            device::copy_on_device(rows_[1 - side].received.data(), rows_[side].sent.data(), rows_[side].sent.size(),
                                   stream_);
    }

  private:
    device::Stream& stream_;
    std::array<BorderRows, 2> rows_;
};

/// Says that border rows stay on the device.
class BordersOnDevice final : public comm::DeviceBorders {
  public:
    [[nodiscard]] std::unique_ptr<comm::BorderChannel> open(const comm::NeighbourRanks&, device::Stream&) override {
        throw Error("a slab opens no channel");
    }
};

TEST(PipelineOverFakeCuda, ExchangesBorderRowsThroughTheHostOrOnTheDeviceInAnyOrder) {
    const network::ExchangedSlab slab(
        network::graph_of(network::DncnnShape{.depth = 4}),
        {.rows = {8, 20}, .above = {0, 8}, .below = {20, PipelineScene::kImage.h}, .image = PipelineScene::kImage});
    constexpr int64_t kWidth = PipelineScene::kImage.w;
    // The second band leaves out its first column, and with it one of the infinite pixels.
    const std::array bands{plan::Tile{{8, 0, {8, kWidth}}, {8, 0, {8, kWidth}}},
                           plan::Tile{{16, 0, {4, kWidth}}, {16, 1, {4, kWidth - 1}}}};
    const std::array cores{Rect{0, 0, bands[0].core.extent}, Rect{8, 1, bands[1].core.extent}};
    BordersOnDevice borders;
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& any, std::mt19937_64& random) {
        PipelineCase chosen = case_of_bands(any);
        const bool is_direct = pick(random, {true, false});
        if (is_direct) chosen.options.device_borders = &borders;
        const fakes::FakeCuda machine({seed, 2, size_t{1} << 30});
        PipelineScene scene(chosen);
        ExchangedEndsDenoiser denoiser(chosen);
        const run::RowRoom room{kWidth, chosen.channels, slab.held(0).size(), slab.shape().rows.size()};
        run::SlabRun on_device(denoiser, slab, run::make_device_rows(chosen.options, chosen.samples, room),
                               chosen.options);
        SceneWindows windows(scene);
        run::PassLog log;
        for (int pass = 0; pass < 2; ++pass) {
            SceneSink output(scene);
            run::StageWatch watch(log, 0);
            Mirror through_host;
            MirrorOnDevice direct(on_device.stream());
            on_device.cut(windows);
            on_device.run(is_direct ? static_cast<engine::RowExchange*>(&direct) : &through_host, watch);
            on_device.receive(cores, watch);
            for (size_t i = 0; i < bands.size(); ++i) on_device.write(i, bands[i], output);
            const run::Slab picture = scene.input();
            const auto is_row = [&](int64_t made, int64_t expected) {
                const size_t pixel_bytes = picture.pixels.pixel_bytes();
                const std::byte* const row = &output.made().pixels[static_cast<size_t>(made * kWidth) * pixel_bytes];
                return std::memcmp(row + 2 * pixel_bytes, picture.at(expected, 2), (kWidth - 2) * pixel_bytes) == 0;
            };
            EXPECT_TRUE(is_row(8, 19) && is_row(19, 8)) << "exchanged";
            for (int64_t row = 9; row < 19; ++row) EXPECT_TRUE(is_row(row, row)) << row;
            const int64_t num_lost = is_float(chosen.samples) ? 0 : chosen.channels;
            EXPECT_EQ(output.made().num_lost[16 * kWidth + 1], num_lost);
            EXPECT_EQ(output.made().all_lost(), num_lost);
        }
        on_device.compute();
    });
}

TEST(PipelineOverFakeCuda, OutOfMemoryLeavesNothingBehind) {
    int num_refused = 0;
    for_seeds(kFewSeeds, [&](uint64_t seed, const PipelineCase& chosen, std::mt19937_64& random) {
        const std::string refusal = error_of<OutOfMemory>([&] {
            DeviceBench bench(seed, chosen, 1000 + random() % 100000);
            bench.expect_whole_pass(chosen);
        });
        num_refused += refusal != kNotThrown ? 1 : 0;
    });
    EXPECT_GT(num_refused, static_cast<int>(kFewSeeds / 10));
    EXPECT_LT(num_refused, static_cast<int>(kFewSeeds));
}

}  // namespace
}  // namespace pb::test
