// Clocks of hosts, and what each rank did when, on one of them.
#include "run/pipeline/timeline.hpp"

#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pb::run {
namespace {

constexpr double kSkewS = 100;

/// Rank 0 on one host, every other two on another.
int node_of(int rank) { return (rank + 1) / 2; }

struct Hosts {
    Hosts() {
        const comm::Communicator world = comm::Communicator::world();
        topology = plan::make_local_topology(world.size());
        for (auto& place : topology.ranks) place.node = node_of(place.rank);
        team.node = world.split(node_of(world.rank()), world.rank());
        team.ranks = world.split(0, world.rank());
        for (int rank = 0; rank < world.size(); ++rank) team.members.push_back(rank);
    }
    /// The team, placed on the nodes of the topology.
    const Team& placed() {
        team.place = topology.place_of(team.members[static_cast<size_t>(team.ranks.rank())]);
        place_team(topology, team);
        return team;
    }
    plan::Topology topology;
    Team team;
};

TEST(ClockOffset, IsFoundWithinItsOwnBound) {
    Hosts hosts;
    const int rank = hosts.team.ranks.rank();
    const double skew_s = kSkewS * node_of(rank);
    const auto found = measure_clock_offset(hosts.placed(), [=] { return monotonic_seconds() + skew_s; });
    EXPECT_NEAR(found.offset_s, skew_s, found.error_s);
    EXPECT_EQ(found.error_s > 0, node_of(rank) > 0);
    EXPECT_EQ(hosts.team.node.max(found.offset_s), found.offset_s) << "the ranks of a host share a clock";
}

TEST(ClockOffset, IsThatOfTheHostsOfTheRanksThatTakePart) {
    Hosts hosts;  // of ranks in another order than the launch has them
    const int num_ranks = hosts.team.ranks.size(), rank = hosts.team.ranks.rank();
    for (int place = 0; place < num_ranks; ++place)
        hosts.team.members[static_cast<size_t>(place)] = num_ranks - 1 - place;
    for (auto& place : hosts.topology.ranks) place.node = node_of(num_ranks - 1 - place.rank);
    const double skew_s = kSkewS * node_of(rank);
    const auto found = measure_clock_offset(hosts.placed(), [=] { return monotonic_seconds() + skew_s; });
    EXPECT_NEAR(found.offset_s, skew_s, found.error_s);
}

TEST(GatherTimeline, StartsWhenTheFirstRankLeftTheBarrier) {
    Hosts hosts;
    const comm::Communicator& ranks = hosts.team.ranks;
    const int rank = ranks.rank();
    SpanLog log(2);
    const double begin_s = 1000.0 - rank;  // the last rank was the first to leave
    for (int i = 0; i <= rank; ++i) log.add({record::Stage::forward, i, begin_s + i, begin_s + i + 0.5});
    std::vector<record::RankTrace> traces(static_cast<size_t>(ranks.size()));
    for (auto& place : hosts.topology.ranks) place.node = 0;
    gather_timeline(hosts.placed(), {log, begin_s, true}, traces);
    if (!ranks.is_root()) return;
    for (int r = 0; r < ranks.size(); ++r) {
        const record::Timeline& timeline = traces[static_cast<size_t>(r)].timeline;
        ASSERT_EQ(timeline.spans.size(), static_cast<size_t>(std::min(2, r + 1)));
        EXPECT_EQ(timeline.num_dropped, std::max(0, r - 1));
        EXPECT_EQ(timeline.of, record::TimelineOf::repetition);
        EXPECT_EQ(timeline.clock_error_s, 0);
        EXPECT_EQ(timeline.spans.back().stage, record::Stage::forward);
        EXPECT_EQ(timeline.spans.back().batch, std::min(1, r));
        EXPECT_NEAR(timeline.spans.front().begin_s, ranks.size() - 1 - r, 1e-9);
        EXPECT_NEAR(timeline.spans.front().end_s, ranks.size() - 1 - r + 0.5, 1e-9);
    }
}

class RecordedPass : public test::OnRanks {
  protected:
    RecordedPass() {
        settings_.batch.count = 2;
        settings_.protocol.warmup_reps = 1;
        settings_.protocol.min_reps = 2;
        settings_.protocol.verify = config::VerifyMode::off;
    }

    config::PointSettings settings_ = test::computed_point({48, 48});
};

TEST_F(RecordedPass, ShowsEveryStageOfEveryBatchInOrder) {
    const record::PointTrace trace = run(settings_);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    for (const auto& rank : trace.ranks) {
        const auto& spans = rank.timeline.spans;
        ASSERT_EQ(spans.size(), static_cast<size_t>(3 * rank.num_batches + 1));
        const std::vector<record::Stage> stages{record::Stage::gather, record::Stage::forward, record::Stage::scatter};
        for (size_t i = 0; i + 1 < spans.size(); ++i) {
            EXPECT_EQ(spans[i].stage, stages[i % 3]);
            EXPECT_EQ(spans[i].batch, static_cast<int64_t>(i / 3));
            EXPECT_LE(spans[i].begin_s, spans[i].end_s);
            EXPECT_LE(spans[i].end_s, spans[i + 1].begin_s);
        }
        EXPECT_GE(spans.front().begin_s, 0);
        EXPECT_EQ(spans.back().stage, record::Stage::exchange);
        EXPECT_EQ(spans.back().batch, -1);
        EXPECT_EQ(rank.timeline.of, record::TimelineOf::warm_up) << "there was a warm-up to look at";
        EXPECT_EQ(rank.wall_s.size(), 2u) << "what is recorded is no repetition";
    }
}

TEST_F(RecordedPass, IsTheLastRepetitionWhereThereIsNoWarmUp) {
    settings_.protocol.warmup_reps = 0;
    const record::PointTrace trace = run(settings_);
    if (!world_.is_root()) return;
    for (const auto& rank : trace.ranks) {
        const auto& spans = rank.timeline.spans;
        EXPECT_EQ(rank.timeline.of, record::TimelineOf::repetition);
        double forward_s = 0;
        for (const record::Span& span : spans)
            if (span.stage == record::Stage::forward) forward_s += span.end_s - span.begin_s;
        EXPECT_NEAR(forward_s, rank.stage_s.back()[static_cast<size_t>(record::Stage::forward)], 1e-6);
    }
}

TEST_F(RecordedPass, KeepsNoMoreSpansThanAskedFor) {
    settings_.protocol.timeline = 4;
    const record::PointTrace trace = run(settings_);
    if (!world_.is_root()) return;
    for (const auto& rank : trace.ranks) {
        EXPECT_LE(rank.timeline.spans.size(), 4u);
        EXPECT_EQ(static_cast<int64_t>(rank.timeline.spans.size()) + rank.timeline.num_dropped,
                  3 * rank.num_batches + 1);
    }
}

TEST_F(RecordedPass, MayBeLeftOut) {
    settings_.protocol.timeline = 0;
    const record::PointTrace trace = run(settings_);
    for (const auto& rank : trace.ranks) EXPECT_TRUE(rank.timeline.spans.empty());
}

}  // namespace
}  // namespace pb::run
