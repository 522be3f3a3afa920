// Points whose devices are simulated, and batches that ranks take when they are ready: every pixel passes through, is
// checked, and the work is shared out as said.
#include "base/sha256.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/exchange.hpp"
#include "run/verify/verification.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

namespace pb::run {
namespace {

/// 24 windows, the last row and column cut short; a call takes 2 ms.
config::PointSettings simulated_settings() {
    config::PointSettings settings = test::simulated_point({140, 90});
    settings.timed.per_window_s = 0.002;
    settings.protocol.min_reps = 2;
    return settings;
}

class RunSimulated : public test::OnRanks {
  protected:
    record::PointTrace run(const config::PointSettings& settings, const std::filesystem::path& file = {}) {
        return runner_.run(point_of(settings), {.image = file});
    }
    [[nodiscard]] static int64_t windows_of(const record::PointTrace& trace) {
        int64_t windows = 0;
        for (const record::RankTrace& rank : trace.ranks) windows += rank.num_windows;
        return windows;
    }

    /// Damages a pixel of row 100 after all ranks have written.
    void expect_damage_is_found() {
        const plan::Point point = point_of(simulated_settings());
        Teams teams(world_, topology_, study_);
        Team& team = teams.of(point);
        ImageSource source(point.settings.image);
        RankShare share(point, team, source);
        record::PointTrace trace;
        trace.point = point;
        trace.useful_pixels = 140 * 90;
        const auto pass_with = [&](float damage) {
            share.poison_output(team);
            share.batches().begin_pass();
            const auto pipeline =
                make_timed_pipeline([](int64_t) { return 0.0; }, share.work(), {}, share.input().pixels.pixel_bytes());
            PassLog log;
            pipeline->pass(share.batches(), share.windows(), share.cores(), log);
            team.ranks.barrier();
            (void)exchange(point, team, share);
            if (world_.is_root() && damage != 0) *reinterpret_cast<float*>(share.output().at(100, 33)) = damage;
            team.ranks.barrier();
            return verify_passed_through(trace, team, share, source);
        };
        EXPECT_EQ(pass_with(0).outcome, record::Verification::Outcome::passed);
        EXPECT_EQ(pass_with(0.123F).reasons,
                  std::vector<std::string>{"1 output samples are not those of the input at their place"});
        const record::Verification missing = pass_with(std::numeric_limits<float>::quiet_NaN());
        EXPECT_EQ(missing.outcome, record::Verification::Outcome::failed);
        EXPECT_EQ(missing.pixels_unwritten, 1);
        trace.useful_pixels = 140 * 91;
        EXPECT_EQ(pass_with(0).reasons.size(), 1U) << "fewer pixels kept than there are";
    }

    Runner runner_{world_, topology_, study_};
};

TEST_F(RunSimulated, WaitsAndPassesEveryPixelThrough) {
    const record::PointTrace trace = run(simulated_settings(), "/not/there/at/all.png");
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
    EXPECT_EQ(trace.verification.windows_checked, 0);
    EXPECT_FALSE(trace.verification.window_error) << "there is no network's output to compare with";
    EXPECT_EQ(trace.output_file, "") << "the noisy image is nobody's result";
    EXPECT_FALSE(trace.quality);
    EXPECT_EQ(trace.weights_source, "none (simulated)");
    EXPECT_FALSE(trace.binding.empty());
    EXPECT_EQ(windows_of(trace), 24);
    for (const record::RankTrace& rank : trace.ranks)
        for (const auto& stages : rank.stage_s)
            EXPECT_NEAR(stages[static_cast<size_t>(record::Stage::forward)],
                        0.002 * static_cast<double>(rank.num_batches), 1e-6);
    EXPECT_GE(*std::min_element(trace.wall_s.begin(), trace.wall_s.end()),
              0.002 * static_cast<double>(trace.ranks.back().num_batches));
}

TEST_F(RunSimulated, AnyBatchSlotsAndOverlapPassEveryPixel) {
    config::PointSettings settings = simulated_settings();
    settings.timed.per_window_s = 0;
    for (const auto schedule : {config::Schedule::contiguous, config::Schedule::dynamic})
        for (const auto last_batch : {config::LastBatch::pad, config::LastBatch::ragged})
            for (const int64_t batch : {1, 5, 100})
                for (const bool overlap : {true, false}) {
                    settings.schedule = schedule;
                    settings.last_batch = last_batch;
                    settings.batch.count = batch;
                    settings.overlap = overlap;
                    settings.slots = batch == 100 ? 2 : batch == 5 ? 3 : 1;
                    const record::PointTrace trace = run(settings);
                    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
                    EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed)
                        << name_of(schedule) << " batch " << batch;
                    EXPECT_EQ(windows_of(trace), 24);
                }
}

/// Writes down what it is told.
struct Notebook final : public ProgressListener {
    void begin(Activity activity) override { activities.push_back(activity); }
    void advance(int64_t done, int64_t all) override {
        during.push_back(activities.back());
        given_out.emplace_back(done, all);
    }
    std::vector<Activity> activities, during;
    std::vector<std::pair<int64_t, int64_t>> given_out;
};

TEST_F(RunSimulated, ARankTellsWhatItDoes) {
    Notebook notebook;
    runner_.report_to(&notebook);
    ASSERT_EQ(run(simulated_settings()).status, record::PointStatus::ok);
    std::vector told{Activity::reading, Activity::preparation, Activity::reading,      Activity::preparation,
                     Activity::network, Activity::network,     Activity::verification, Activity::writing};
    if (world_.size() > 1) told.push_back(Activity::waiting);
    EXPECT_EQ(notebook.activities, told) << "two passes, each of which begins";
    const auto [begin, end] = shard(24, world_.rank(), world_.size());
    std::vector<std::pair<int64_t, int64_t>> expected;
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t done = 0; done <= end - begin; ++done) expected.emplace_back(done, end - begin);
    EXPECT_EQ(notebook.given_out, expected) << "its own batches";
    EXPECT_EQ(notebook.during, std::vector<Activity>(expected.size(), Activity::network));
}

TEST_F(RunSimulated, WithADynamicScheduleTheBatchesOfAllRanksAreTold) {
    Notebook notebook;
    runner_.report_to(&notebook);
    config::PointSettings settings = simulated_settings();
    settings.schedule = config::Schedule::dynamic;
    ASSERT_EQ(run(settings).status, record::PointStatus::ok);
    int64_t former = -1;
    for (const auto& [done, all] : notebook.given_out) {
        EXPECT_EQ(all, 24);
        EXPECT_GT(done, former);
        former = done == all ? -1 : done;
    }
    EXPECT_EQ(former, -1) << "the last call of a pass says that all are given out";
}

TEST_F(RunSimulated, OneRankMayBeSlower) {
    config::PointSettings settings = simulated_settings();
    settings.timed.slow_rank = world_.size() - 1;
    settings.timed.slow_factor = 3;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    for (const record::RankTrace& rank : trace.ranks) {
        const double factor = rank.rank == world_.size() - 1 ? 3 : 1;
        EXPECT_NEAR(rank.stage_s.front()[static_cast<size_t>(record::Stage::forward)],
                    factor * 0.002 * static_cast<double>(rank.num_batches), 1e-6);
    }
}

TEST_F(RunSimulated, WithADynamicScheduleASlowRankGetsLess) {
    config::PointSettings settings = simulated_settings();
    settings.schedule = config::Schedule::dynamic;
    settings.timed.slow_rank = 0;
    settings.timed.slow_factor = 100;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
    EXPECT_EQ(windows_of(trace), 24);
    const auto most = std::max_element(trace.ranks.begin(), trace.ranks.end(),
                                       [](const auto& a, const auto& b) { return a.num_windows < b.num_windows; });
    if (world_.size() > 1) {
        EXPECT_NE(most->rank, 0);
    }
}

TEST_F(RunSimulated, ADynamicScheduleGivesARealNetworkTheSameBytes) {
    config::PointSettings settings = simulated_settings();
    settings.engine = EngineKind::torch;
    settings.weights = "seed:1";
    settings.threads.count = 1;
    settings.protocol.min_reps = 1;
    settings.protocol.verify = config::VerifyMode::full;
    const test::SharedFolder folder(world_);
    ASSERT_EQ(run(settings, folder / "expected.png").status, record::PointStatus::ok);
    settings.schedule = config::Schedule::dynamic;
    for (const int64_t batch : {1, 5}) {
        settings.batch.count = batch;
        settings.last_batch = batch == 5 ? config::LastBatch::ragged : config::LastBatch::pad;
        const record::PointTrace trace = run(settings, folder / "dynamic.png");
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (!world_.is_root()) continue;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
        EXPECT_EQ(trace.verification.windows_checked, 24) << "whoever did them";
        EXPECT_EQ(sha256_of_file(folder / "dynamic.png"), sha256_of_file(folder / "expected.png"));
    }
}

TEST_F(RunSimulated, RanksThatWereLeftOutKeepTheirNumbers) {
    config::PointSettings settings = simulated_settings();
    settings.ranks.count = std::max(1, world_.size() - 1);
    const record::PointTrace trace = run(settings);
    EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (trace.ranks.empty()) return;  // this rank slept
    for (size_t i = 0; i < trace.ranks.size(); ++i) EXPECT_EQ(trace.ranks[i].rank, static_cast<int>(i));
}

/// Ranks 0 and 1 are on node 0, rank 2 on node 1: compact takes ranks 0 and 1, scatter takes 0 and 2.
TEST_F(RunSimulated, RanksArePlacedAsEachPointSays) {
    if (world_.size() < 3) GTEST_SKIP() << "needs a rank that is left out between two others";
    for (plan::RankPlace& place : topology_.ranks) {
        place.node = place.rank / 2;
        place.local_rank = place.rank % 2;
    }
    config::PointSettings settings = simulated_settings();
    settings.ranks.count = 2;
    Runner runner(world_, topology_, study_);
    for (const auto& [placement, second] :
         {std::pair{config::Placement::compact, 1}, {config::Placement::scatter, 2}}) {
        settings.placement = placement;
        const record::PointTrace trace = runner.run(point_of(settings), {});
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (world_.rank() != 0 && world_.rank() != second) continue;  // this rank slept
        ASSERT_EQ(trace.ranks.size(), 2U);
        EXPECT_EQ(trace.ranks.back().rank, second);
    }
}

TEST_F(RunSimulated, APixelThatIsMissingOrOutOfPlaceIsFound) { expect_damage_is_found(); }

TEST_F(RunSimulated, APixelThatIsMissingOrOutOfPlaceIsFoundOnTheRootsNodeAlone) {
    for (plan::RankPlace& place : topology_.ranks) place.node = place.rank;
    expect_damage_is_found();
}

}  // namespace
}  // namespace pb::run
