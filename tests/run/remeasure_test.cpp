// A point whose repetitions drift is measured again by itself: a pipeline whose passes take as long as the test says.
#include "comm/interruption.hpp"
#include "run/agreement.hpp"
#include "run/point/repetitions.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace pb::run {
namespace {

using Milliseconds = std::vector<int>;

constexpr int64_t kRepetitions = 8;
const Milliseconds kSteady(kRepetitions, 5);
const Milliseconds kDrifting{5, 20, 40, 60, 80, 100, 120, 140};  // far beyond what a busy machine adds

Milliseconds joined(const std::vector<Milliseconds>& parts) {
    Milliseconds all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

/// Its n-th pass takes the n-th time, later ones as long as the last.
class ScriptedPipeline final : public Pipeline {
  public:
    explicit ScriptedPipeline(Milliseconds passes) : passes_(std::move(passes)) {}
    void pass(BatchQueue& batches, WindowSource& /*input*/, CoreSink& /*output*/, PassLog& /*log*/) override {
        while (batches.next()) {
        }
        const size_t pass = std::min(num_passes_++, passes_.size() - 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(passes_[pass]));
    }
    double forward_call() override { return 0.001; }
    [[nodiscard]] size_t num_passes() const { return num_passes_; }

  private:
    Milliseconds passes_;
    size_t num_passes_ = 0;
};

class Remeasure : public test::OnRanks {
  protected:
    Remeasure() {
        settings_.protocol.min_reps = kRepetitions;
        settings_.protocol.rel_width = 2;  // only a drift by more than a factor of three counts
        settings_.protocol.timeline = 0;
        settings_.protocol.forward_calls = 1;
    }

    record::PointTrace run(const Milliseconds& passes) {
        Teams teams(world_, topology_, study_);
        record::PointTrace trace;
        trace.point = point_of(settings_);
        Team& team = teams.of(trace.point);
        ImageSource source(settings_.image);
        RankShare share(trace.point, team, source);
        ScriptedPipeline pipeline(passes);
        run_repetitions(team, topology_, pipeline, share, trace);
        num_passes_ = pipeline.num_passes();
        return trace;
    }

    config::PointSettings settings_ = test::computed_point({48, 48});
    size_t num_passes_ = 0;
};

TEST_F(Remeasure, ASteadyPointIsMeasuredOnce) {
    const record::PointTrace trace = run(kSteady);
    EXPECT_TRUE(trace.discarded.empty());
    EXPECT_EQ(record::num_measurements(trace), 1);
    EXPECT_EQ(num_passes_, kRepetitions);
}

TEST_F(Remeasure, ADriftIsForgottenButForItsReason) {
    const record::PointTrace trace = run(joined({kDrifting, kSteady}));
    ASSERT_EQ(trace.discarded.size(), 1U);
    EXPECT_EQ(record::num_measurements(trace), 2);
    EXPECT_EQ(trace.discarded[0].repetitions, kRepetitions);
    EXPECT_GT(trace.discarded[0].drift, 1);
    EXPECT_GT(trace.discarded[0].pipeline_s, 0.015);
    EXPECT_EQ(trace.wall_s.size(), kRepetitions) << "the samples are those of the last measurement alone";
    EXPECT_EQ(trace.stop_reason, StopReason::max_time);
    EXPECT_LT(*std::min_element(trace.wall_s.begin(), trace.wall_s.end()), trace.discarded[0].pipeline_s);
    for (const record::RankTrace& rank : trace.ranks) {
        EXPECT_EQ(rank.wall_s.size(), kRepetitions);
        EXPECT_EQ(rank.cpu_s.size(), kRepetitions);
        EXPECT_EQ(rank.stage_s.size(), kRepetitions);
        EXPECT_EQ(rank.forward_call_s.size(), kRepetitions);
        EXPECT_EQ(rank.num_windows > 0, world_.size() <= 4);
    }
}

TEST_F(Remeasure, IsTriedAsOftenAsTheSettingSays) {
    settings_.protocol.remeasure = 2;
    const record::PointTrace trace = run(joined({kDrifting, kDrifting, kDrifting, kSteady}));
    EXPECT_EQ(trace.discarded.size(), 2U);
    EXPECT_EQ(num_passes_, 3 * kRepetitions);
    EXPECT_GT(trace.wall_s.back(), 2 * trace.wall_s.front()) << "the last one drifts, too: it is kept and INVALID";

    settings_.protocol.remeasure = 0;
    EXPECT_TRUE(run(joined({kDrifting, kSteady})).discarded.empty());
    EXPECT_EQ(num_passes_, kRepetitions);
}

TEST_F(Remeasure, ASimulatedPointIsNever) {
    settings_.engine = EngineKind::timed;
    EXPECT_TRUE(run(joined({kDrifting, kSteady})).discarded.empty());
}

TEST_F(Remeasure, TheStudysTimeIsKept) {
    const comm::InterruptionGuard guard;
    comm::interrupt_after(1);  // the first measurement takes 0.56 s at least: a second one would cost the point
    const Attempt attempted = attempt([&] { EXPECT_TRUE(run(joined({kDrifting, kSteady})).discarded.empty()); });
    EXPECT_EQ(attempted.kind, Attempt::Kind::ok) << attempted.reason;
}

}  // namespace
}  // namespace pb::run
