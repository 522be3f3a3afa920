// What `auto` settles on: a halo that follows the tolerance, a batch that follows the rate.
#include "run/point/settle.hpp"

#include "run/agreement.hpp"
#include "support/on_ranks.hpp"
#include "support/shallow_dncnn.hpp"
#include "support/small_point.hpp"
#include "support/state_dict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace pb::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A bench whose rates are made up: entry i is that of batch 2^i, and beyond the last one nothing fits.
struct MadeUpBench {
    std::vector<double> pixels_per_s;
    std::vector<int64_t> tried = {};

    BatchTrial operator()(int64_t batch) {
        tried.push_back(batch);
        size_t place = 0;
        while (int64_t{1} << place < batch) ++place;
        if (place < pixels_per_s.size()) return {.fits = true, .pixels_per_s = pixels_per_s[place]};
        return {.status = record::PointStatus::oom, .reason = "no room for " + std::to_string(batch)};
    }
};

int64_t batch_for(MadeUpBench bench, int64_t most = 1000) { return find_batch(most, std::ref(bench)); }

TEST(FindBatch, FollowsTheRate) {
    EXPECT_EQ(batch_for({{100, 150, 190, 220, 221, 222}}), 8) << "half a per cent is no gain";
    EXPECT_EQ(batch_for({{100, 80, 60, 50}}), 1);
    EXPECT_EQ(batch_for({{100, 100, 100, 100}}), 1);
}

TEST(FindBatch, WantsMoreThanThreePercent) {
    EXPECT_EQ(batch_for({{100, 102.9, 200}}), 1);
    EXPECT_EQ(batch_for({{100, 103.1, 103.1}}), 2);
}

TEST(FindBatch, TakesTheLargestThatFitsWhileTheRateRises) {
    EXPECT_EQ(batch_for({{100, 150, 190}}), 4);
    EXPECT_EQ(batch_for({{100}}), 1);
}

TEST(FindBatch, TriesNoMoreThanThereAreWindows) {
    MadeUpBench bench{{100, 150, 190, 250}};
    EXPECT_EQ(find_batch(3, std::ref(bench)), 3);
    EXPECT_THAT(bench.tried, ElementsAre(1, 2, 3));
    EXPECT_EQ(batch_for({{100, 150}}, 1), 1);
}

/// By hand: a trial is two calls. After batch 1, and with one of batch 2 that is as fast, the job may be half as long:
/// 2 * 2 + 2 * 2 windows are a twentieth of 160.
TEST(FindBatch, TriesWhatTakesATwentiethOfTheJobAtMost) {
    const auto batches_tried = [](int64_t most) {
        std::vector<int64_t> tried;
        (void)find_batch(most, [&](int64_t batch) {
            tried.push_back(batch);
            const auto windows = static_cast<double>(batch);
            return BatchTrial{.fits = true, .pixels_per_s = windows, .call_s = windows};
        });
        return tried;
    };
    EXPECT_THAT(batches_tried(159), ElementsAre(1));
    EXPECT_THAT(batches_tried(161), ElementsAre(1, 2));
}

TEST(FindBatch, ThrowsWhereNotEvenOneWindowFits) {
    try {
        (void)batch_for({{}});
        FAIL();
    } catch (const PointFailed& failure) {
        EXPECT_EQ(failure.status(), record::PointStatus::oom);
        EXPECT_THAT(failure.what(), HasSubstr("no room for 1"));
    }
}

/// Much larger than a probe, so that a probe can lack context.
config::PointSettings point_with_tolerance(network::NetworkKind network, double tolerance) {
    config::PointSettings settings = test::computed_point({96, 96});
    settings.network = network;
    settings.patch = 48;
    settings.halo = {.kind = config::HaloSetting::Kind::automatic};
    settings.halo_tolerance = tolerance;
    settings.protocol.verify = config::VerifyMode::off;
    settings.image.noise_sigma = 0.1;
    return settings;
}

class Settle : public test::OnRanks {
  protected:
    int64_t halo_of(network::NetworkKind network, double tolerance) {
        const record::PointTrace trace = runner_.run(point_of(point_with_tolerance(network, tolerance)), {});
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        return trace.point.halo.value_or(-1);
    }

    Runner runner_{world_, topology_, study_};
};

TEST_F(Settle, TheHaloIsSmallerTheMoreErrorIsTolerated) {
    const int64_t loosest = halo_of(network::kind_of<network::DncnnShape>(), 1);
    const int64_t loose = halo_of(network::kind_of<network::DncnnShape>(), 0.02);
    const int64_t strict = halo_of(network::kind_of<network::DncnnShape>(), 1e-4);
    EXPECT_EQ(loosest, 0) << "no output is off by ten";
    EXPECT_EQ(loose, 10) << "half of the tolerance at the probes: all of it would take 7 pixels";
    EXPECT_GT(strict, loose);
    EXPECT_LE(strict, network::network_facts(network::kind_of<network::DncnnShape>()).exact_halo);
}

TEST_F(Settle, TheHaloGoesInStepsOfTheAlignment) {
    const network::NetworkFacts& facts = network::network_facts(network::kind_of<network::UnetShape>());
    const int64_t halo = halo_of(network::kind_of<network::UnetShape>(), 0.2);
    EXPECT_EQ(halo % facts.alignment, 0);
    EXPECT_GT(halo, 0);
    EXPECT_LT(halo, facts.exact_halo);
}

TEST_F(Settle, TheHaloIsFoundForExtentsThatAreNoMultiplesOfTheAlignment) {
    config::PointSettings settings = point_with_tolerance(network::kind_of<network::UnetShape>(), 0.2);
    settings.patch = 32;
    settings.image.height = 36;
    settings.image.width = 41;
    const record::PointTrace trace = runner_.run(point_of(settings), {});
    EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
}

/// With bounded searches: images too small for a search of their own.
class TypicalHalo : public Settle {
  protected:
    /// By a runner that knows nothing but the cache.
    int64_t halo_for(const config::PointSettings& settings) {
        Runner runner(world_, topology_, study_);
        runner.bound_searches(cache_.path());
        const record::PointTrace trace = runner.run(point_of(settings), {});
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        return trace.point.halo.value_or(-1);
    }

    /// A network that is searched soon: its halo is 4 at most.
    void take_shallow_network() {
        settings_.weights = cache_ / "shallow.safetensors";
        together(world_, [&] {
            if (world_.is_root()) test::save_weights(test::shallow_dncnn(), settings_.weights);
        });
    }

    /// Replaces what the cache holds.
    void plant(const std::string& answer) {
        together(world_, [&] {
            if (!world_.is_root()) return;
            int num_files = 0;
            for (const auto& file : std::filesystem::directory_iterator(cache_ / "halos")) {
                std::ofstream(file.path()) << answer;
                ++num_files;
            }
            EXPECT_EQ(num_files, 1);
        });
    }

    const test::SharedFolder cache_{world_};
    config::PointSettings settings_ = point_with_tolerance(network::kind_of<network::DncnnShape>(), 0.02);
};

TEST_F(TypicalHalo, DependsOnTheNoiseAndTheToleranceAndNotOnTheImage) {
    const int64_t halo = halo_for(settings_);
    EXPECT_GE(halo, halo_of(settings_.network, 0.02)) << "half the tolerance of a search on the image";
    settings_.image.seed = 8;
    settings_.image.height = 144;
    plant("3\n");
    EXPECT_EQ(halo_for(settings_), 3) << "the question is the same";
    settings_.image.noise_sigma = 0.101;
    EXPECT_EQ(halo_for(settings_), 3) << "nearly the same noise";
    settings_.trained_sigma.level = 0.05;
    EXPECT_GT(halo_for(settings_), 3) << "the weights are trained for other noise";
    settings_.halo_tolerance = 1e-4;
    EXPECT_GT(halo_for(settings_), halo);
}

/// With less noise a smaller halo may be enough.
TEST_F(TypicalHalo, IsSearchedAtTheMostNoiseThatItIsKeptFor) {
    settings_.image.noise_sigma = 0.09;
    TypicalHalos halos(cache_.path());
    double told = 0, added = 0;
    const auto look = [&](const plan::Point& scene, ImageSource& /*source*/) -> std::unique_ptr<ReferencePath> {
        told = scene.sigma;
        added = scene.settings.image.noise_sigma;
        throw Error("seen");
    };
    EXPECT_THROW((void)halos.find(point_of(settings_), test::shallow_dncnn(), look), Error);
    EXPECT_GT(told, 0.1);
    EXPECT_EQ(added, told);
}

TEST_F(TypicalHalo, IsThatOfTheWeightsAndOfTheChannels) {
    const auto num_known = [&] {
        const std::filesystem::directory_iterator files(cache_ / "halos");
        return std::distance(begin(files), end(files));
    };
    take_shallow_network();
    (void)halo_for(settings_);
    EXPECT_EQ(num_known(), 1);
    together(world_, [&] {
        const network::DncnnShape shape{.depth = 3, .width = 8};
        if (world_.is_root()) test::save_weights(engine::make_seeded_weights(shape, 2), settings_.weights);
    });
    (void)halo_for(settings_);
    EXPECT_EQ(num_known(), 2) << "other weights in the same file";
    together(world_, [&] {
        const network::DncnnShape shape{.channels = 1, .depth = 3, .width = 8};
        if (world_.is_root()) test::save_weights(engine::make_seeded_weights(shape, 2), settings_.weights);
    });
    settings_.image.channels = 1;
    EXPECT_GE(halo_for(settings_), 0);
}

TEST_F(TypicalHalo, IsSearchedAgainWhereTheCacheIsDamaged) {
    take_shallow_network();
    const int64_t halo = halo_for(settings_);
    for (const char* damaged : {"", "x\n", "-1\n", "21\n", "1 4\n"}) {
        plant(damaged);
        EXPECT_EQ(halo_for(settings_), halo) << damaged;
    }
}

TEST_F(TypicalHalo, IsNotForLargeImages) {
    const auto is_searched = [&](int64_t height, int64_t patch) {
        settings_.image.height = height;
        settings_.image.width = 720;
        settings_.patch = patch;
        return is_worth_a_halo_search(point_of(settings_), 20);
    };
    // One probe of 104 x 104 pixels with the exact halo, and log2(21) of 84 x 84 pixels: 0.042 Mpx.
    EXPECT_TRUE(is_searched(1200, 720));
    EXPECT_FALSE(is_searched(1100, 720));
    EXPECT_FALSE(is_searched(1200, 240)) << "four probes";
    EXPECT_TRUE(is_searched(100, 720)) << "one window: no seams to probe";
}

TEST_F(Settle, SeveralImagesShareBatchesThatOneOfThemCouldHave) {
    config::PointSettings settings = point_with_tolerance(network::kind_of<network::DncnnShape>(), 1);
    settings.halo = {config::HaloSetting::Kind::pixels, 0};
    settings.batch.count = 0;
    settings.patch = 32;
    plan::Point point = point_of(settings);
    plan::settle_batch(point, 1);
    EXPECT_EQ(full_batch(point), 16) << "128 x 128 pixels";
    point.settings.memory_limit_mib = 1000;
    EXPECT_EQ(full_batch(point), 1) << "which takes least memory";
}

/// Takes no time for several windows and much for a single one.
class SlowWithOneWindow final : public engine::Denoiser {
  public:
    void prepare(const BatchView&, const BatchView&, device::Stream&) override {}
    void forward(const BatchView& in, const BatchView&, device::Stream&) override {
        if (in.shape.n == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
};

TEST_F(Settle, TheBatchIsTriedOnTheRanks) {
    config::PointSettings settings = point_with_tolerance(network::kind_of<network::DncnnShape>(), 1);
    settings.halo = {config::HaloSetting::Kind::pixels, 0};
    settings.batch.count = 0;
    settings.patch = 16;
    const plan::Point point = point_of(settings);
    Teams teams(world_, topology_, study_);
    Team& team = teams.of(point);
    SlowWithOneWindow denoiser;
    EXPECT_GT(find_batch({point, team, denoiser, {}, 3, DType::f32}), 1);
    settings.memory_limit_mib = 1000;
    const plan::Point limited = point_of(settings);
    EXPECT_EQ(find_batch({limited, team, denoiser, {}, 3, DType::f32}), 1) << "which takes least memory";
}

}  // namespace
}  // namespace pb::run
