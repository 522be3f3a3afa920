// What is counted and timed of a point's passes: how many there are, whose time is theirs, whose memory.
#include "run/point/repetitions.hpp"

#include "device/host_memory.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace pb::run {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;

constexpr double kSleepS = 0.2;
void sleep() { std::this_thread::sleep_for(std::chrono::duration<double>(kSleepS)); }

/// Resident memory, past the allocator: the address sanitizer's keeps what was freed.
void hold_for_a_moment(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(munmap(memory, bytes), 0);
}

/// Passes that do nothing but count, and what a test adds to each. Call i of the network takes i seconds, it says.
struct CountingPipeline final : public Pipeline {
    void pass(BatchQueue& batches, WindowSource&, CoreSink& output, PassLog&) override {
        while (batches.next()) continue;
        ++passes;
        if (in_pass) in_pass();
        if (on_output) on_output(output);
    }
    double forward_call() override {
        if (in_call) in_call();
        return ++calls;
    }
    [[nodiscard]] int64_t replay_bytes() const override { return replayed; }

    int64_t replayed = 0;
    int passes = 0, calls = 0;
    std::function<void()> in_pass, in_call;
    std::function<void(CoreSink&)> on_output;
};

/// Whatever the ranks measured, the last one says that it took this much longer.
class LateReduction final : public comm::MetricReduction {
  public:
    static constexpr double kLateS = 1000;
    LateReduction(std::unique_ptr<comm::MetricReduction> real, bool is_late)
        : real_(std::move(real)), is_late_(is_late) {}
    [[nodiscard]] std::string_view name() const override { return real_->name(); }
    [[nodiscard]] std::vector<std::vector<double>> all_gather(std::span<const double> values) override {
        return real_->all_gather(values);
    }
    [[nodiscard]] std::vector<double> max(std::span<const double> values) override {
        std::vector<double> later(values.begin(), values.end());
        for (double& value : later) value += is_late_ ? kLateS : 0;
        return real_->max(later);
    }

  private:
    std::unique_ptr<comm::MetricReduction> real_;
    bool is_late_;
};

/// Brings nothing, slowly.
struct SlowChannel final : public comm::TransferChannel {
    [[nodiscard]] std::string_view name() const override { return "slow"; }
    void transfer(std::span<const comm::RowTransfer>) override { sleep(); }
};

/// Its network is run by another process.
class ElsewhereDenoiser final : public engine::Denoiser {
  public:
    explicit ElsewhereDenoiser(int process) : process_(process) {}
    void prepare(const BatchView&, const BatchView&, device::Stream&) override {}
    void forward(const BatchView&, const BatchView&, device::Stream&) override {}
    [[nodiscard]] int process_id() const override { return process_; }

  private:
    int process_;
};

/// Simulated: nothing is computed, whatever the image.
config::PointSettings counted_point() {
    config::PointSettings settings = test::simulated_point({96, 96});
    settings.protocol.min_reps = 2;
    settings.protocol.timeline = 0;
    return settings;
}

class RepetitionsOfAPoint : public test::OnRanks {
  protected:
    /// `change` is done to the team first.
    record::PointTrace run(const config::PointSettings& settings, const std::function<void(Team&)>& change = {},
                           const engine::Denoiser* denoiser = nullptr) {
        record::PointTrace trace;
        trace.point = point_of(settings);
        Teams teams(world_, topology_, study_);
        Team& team = teams.of(trace.point);
        ImageSource source(settings.image);
        RankShare share(trace.point, team, source);
        if (change) change(team);
        run_repetitions(team, topology_, pipeline_, share, trace, denoiser);
        return trace;
    }

    CountingPipeline pipeline_;
};

TEST_F(RepetitionsOfAPoint, AreAsManyAsAskedForAfterAsManyWarmUps) {
    config::PointSettings settings = counted_point();
    settings.protocol.warmup_reps = 3;
    settings.protocol.forward_calls = 2;
    const record::PointTrace trace = run(settings);
    EXPECT_EQ(pipeline_.passes, 3 + 2);
    EXPECT_EQ(pipeline_.calls, 2 * (3 + 2));
    EXPECT_EQ(trace.wall_s.size(), 2U);
    for (const record::RankTrace& rank : trace.ranks) {
        EXPECT_EQ(rank.wall_s.size(), 2U);
        EXPECT_EQ(rank.stage_s.size(), 2U);
        EXPECT_EQ(rank.cpu_s.size(), 2U);
        EXPECT_THAT(rank.forward_call_s, ElementsAre(7, 8, 9, 10)) << "those of the warm-ups do not count";
    }
}

TEST_F(RepetitionsOfAPoint, CountTheProcessorTimeOfTheirPassesOnly) {
    constexpr double kBeforeS = 0.5;  // more than passes that compute nothing take
    while (device::process_cpu_seconds() < kBeforeS) continue;
    const double before = device::process_cpu_seconds();
    const record::PointTrace trace = run(counted_point());
    const double spent = device::process_cpu_seconds() - before;
    if (world_.rank() != 0) return;  // the trace is gathered there
    ASSERT_FALSE(trace.ranks.empty());
    const auto& passes = trace.ranks.front().cpu_s;
    EXPECT_LE(std::accumulate(passes.begin(), passes.end(), 0.0), spent);
}

TEST_F(RepetitionsOfAPoint, CountTheProcessorTimeOfTheEnginesProcess) {
    const pid_t busy = fork();
    ASSERT_GE(busy, 0);
    while (busy == 0) continue;
    pipeline_.in_pass = sleep;
    const ElsewhereDenoiser denoiser(busy);
    const record::PointTrace trace = run(counted_point(), {}, &denoiser);
    EXPECT_EQ(kill(busy, SIGKILL), 0);
    EXPECT_EQ(waitpid(busy, nullptr, 0), busy);
    if (world_.rank() != 0) return;  // the trace is gathered there
    EXPECT_THAT(trace.ranks.front().cpu_s, Each(Ge(kSleepS / 20))) << "a share of a core that others may use, too";
}

TEST_F(RepetitionsOfAPoint, AreTimedWithoutTheForwardCallsBetweenThem) {
    pipeline_.in_call = sleep;
    config::PointSettings settings = counted_point();
    settings.protocol.forward_calls = 1;
    EXPECT_LT(run(settings).repeated_s, kSleepS) << "of two passes that compute nothing";
}

TEST_F(RepetitionsOfAPoint, RememberTheTimeOfTheFirstPassOfAll) {
    pipeline_.in_pass = [this] {
        if (pipeline_.passes == 1) sleep();
    };
    for (const int64_t warm_ups : {0, 1}) {
        config::PointSettings settings = counted_point();
        settings.protocol.warmup_reps = warm_ups;
        pipeline_.passes = 0;
        EXPECT_GE(run(settings).first_pass_s, kSleepS) << warm_ups << " warm-ups";
    }
}

TEST_F(RepetitionsOfAPoint, HaveOneMoreWarmUpThatIsShownWhereTheFirstIsShort) {
    config::PointSettings settings = counted_point();
    settings.protocol.timeline = 10;
    settings.protocol.warmup_reps = 1;
    (void)run(settings);
    EXPECT_EQ(pipeline_.passes, 2 + 2);
    settings.protocol.warmup_reps = 0;
    pipeline_.passes = 0;
    (void)run(settings);
    EXPECT_EQ(pipeline_.passes, 2) << "without a warm-up the last repetition is shown";
}

TEST_F(RepetitionsOfAPoint, WarmUpForAtLeastTheTimeAskedFor) {
    config::PointSettings settings = counted_point();
    settings.protocol.warmup_time_s = 2.5 * kSleepS;
    settings.protocol.min_reps = 1;
    pipeline_.in_pass = sleep;
    (void)run(settings);
    EXPECT_LE(pipeline_.passes, 3 + 1) << "a pass takes no less than it sleeps";
    EXPECT_GE(pipeline_.passes, 1 + 1);
}

TEST_F(RepetitionsOfAPoint, BeginWithAnOutputThatNoEarlierPassWrote) {
    config::PointSettings settings = counted_point();
    settings.protocol.warmup_reps = 1;
    const Rect own{0, world_.rank(), {1, 1}};
    std::vector<float> found;
    pipeline_.on_output = [&](CoreSink& output) {
        found.push_back(output.read(own).as<float>()[0]);
        *reinterpret_cast<float*>(output.map(own).part(own).row(0)) = 0.5F;
        output.commit(own);
    };
    (void)run(settings);
    ASSERT_EQ(found.size(), 1 + 2U);
    for (size_t i = 1; i < found.size(); ++i) EXPECT_TRUE(std::isnan(found[i])) << "what the pass before left";
}

TEST_F(RepetitionsOfAPoint, LastUntilTheSlowestRankHasDelivered) {
    pipeline_.in_pass = [this] {
        if (is_last()) sleep();
    };
    const record::PointTrace trace = run(counted_point());
    EXPECT_THAT(trace.wall_s, Each(Ge(kSleepS)));
    EXPECT_THAT(trace.ranks.back().wall_s, Each(Ge(kSleepS)));
    if (world_.size() == 1) return;
    for (size_t i = 0; i < trace.wall_s.size(); ++i)
        EXPECT_LT(trace.ranks.front().wall_s[i], trace.ranks.back().wall_s[i]) << "a rank's own time has no waiting";
}

TEST_F(RepetitionsOfAPoint, TakeTheLargestTimeOverTheRanks) {
    const record::PointTrace trace = run(counted_point(), [this](Team& team) {
        team.reduction = std::make_unique<LateReduction>(std::move(team.reduction), is_last());
    });
    EXPECT_THAT(trace.wall_s, Each(Ge(LateReduction::kLateS)));
}

TEST_F(RepetitionsOfAPoint, HoldTheExchangeWithTheOtherNodes) {
    const record::PointTrace trace = run(counted_point(), [](Team& team) {
        team.spans_nodes = true;
        team.channel = std::make_unique<SlowChannel>();
    });
    EXPECT_EQ(trace.exchange.value().carrier, "slow");
    EXPECT_THAT(trace.wall_s, Each(Ge(kSleepS)));
    for (const record::RankTrace& rank : trace.ranks)
        for (const record::StageSeconds& stages : rank.stage_s)
            EXPECT_GE(stages[static_cast<size_t>(record::Stage::exchange)], kSleepS);
}

TEST_F(RepetitionsOfAPoint, DoNotShowTheHostMemoryOfThePointBefore) {
    if (!device::reset_resident_peak()) GTEST_SKIP() << "the kernel refuses /proc/self/clear_refs";
    constexpr int64_t kBytes = int64_t{256} << 20;
    pipeline_.in_pass = [] { hold_for_a_moment(kBytes); };
    const record::PointTrace large = run(counted_point());
    pipeline_.in_pass = nullptr;
    const record::PointTrace small = run(counted_point());
    for (size_t rank = 0; rank < large.ranks.size(); ++rank)
        EXPECT_LT(small.ranks[rank].memory.host_peak, large.ranks[rank].memory.host_peak - kBytes / 2);
}

TEST_F(RepetitionsOfAPoint, ShowTheMemoryThatAGraphWorksIn) {
    const record::PointTrace eager = run(counted_point());
    pipeline_.replayed = int64_t{1} << 30;
    const record::PointTrace graph = run(counted_point());
    for (size_t rank = 0; rank < eager.ranks.size(); ++rank)
        EXPECT_EQ(graph.ranks[rank].memory.allocated_peak,
                  eager.ranks[rank].memory.allocated_peak + pipeline_.replayed);
}

TEST_F(RepetitionsOfAPoint, DoNotShowTheEnginesMemoryOfThePointBefore) {
    config::PointSettings small = counted_point();
    small.engine = EngineKind::torch;
    small.weights = "seed:1";
    small.threads.count = 1;
    small.protocol.min_reps = 1;
    config::PointSettings large = small;
    large.batch.count = 4;
    Runner runner(world_, topology_, study_);
    const int64_t alone = runner.run(point_of(small), {}).ranks.front().memory.allocated_peak;
    EXPECT_GT(runner.run(point_of(large), {}).ranks.front().memory.allocated_peak, alone);
    EXPECT_EQ(runner.run(point_of(small), {}).ranks.front().memory.allocated_peak, alone);
}

}  // namespace
}  // namespace pb::run
