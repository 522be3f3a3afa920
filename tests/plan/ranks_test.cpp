// Points by their ranks: who takes part, scenes that grow with them, shares that are not known beforehand, devices that
// are simulated.
#include "config/settings_access.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace pb::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// Ranks started node by node, or in turn over the nodes.
Topology nodes_of(int num_nodes, int ranks_a_node, bool in_turn) {
    Topology topology = make_local_topology(num_nodes * ranks_a_node);
    for (RankPlace& place : topology.ranks) {
        place.node = in_turn ? place.rank % num_nodes : place.rank / ranks_a_node;
        place.local_rank = in_turn ? place.rank / num_nodes : place.rank % ranks_a_node;
        place.host = "node" + std::to_string(place.node);
    }
    return topology;
}

SourceFacts no_image(const config::ImageSettings& /*image*/) { throw UsageError("unexpected look-up"); }

std::vector<Point> points_of(const std::vector<config::PointSettings>& points, const Topology& topology) {
    config::Config config;
    config.points = points;
    return make_plan(config, topology, no_image).points;
}

config::PointSettings tiny_point() {
    config::PointSettings settings;
    settings.patch = 64;
    settings.image.height = 640;
    settings.image.width = 64;
    settings.batch.count = 1;
    return settings;
}

config::PointSettings simulated_point() {
    config::PointSettings settings = tiny_point();
    settings.engine = EngineKind::timed;
    settings.timed.base_s = 0.5;
    settings.timed.per_window_s = 0.25;
    return settings;
}

TEST(Members, AreThoseOfOneNodeOrOfAllNodes) {
    for (const bool in_turn : {false, true}) {
        const Topology topology = nodes_of(3, 4, in_turn);
        for (const auto placement : {config::Placement::compact, config::Placement::scatter})
            for (int num_ranks = 1; num_ranks <= 12; ++num_ranks) {
                const auto members = members_of(topology, num_ranks, placement);
                ASSERT_EQ(members.size(), static_cast<size_t>(num_ranks));
                EXPECT_EQ(members.front(), 0);
                Topology part;
                for (const int rank : members) part.ranks.push_back(topology.ranks[static_cast<size_t>(rank)]);
                EXPECT_TRUE(std::is_sorted(part.ranks.begin(), part.ranks.end(), [](const auto& a, const auto& b) {
                    return a.node < b.node;
                })) << "a node's shares lie together";
                const int nodes =
                    placement == config::Placement::compact ? (num_ranks + 3) / 4 : std::min(num_ranks, 3);
                EXPECT_EQ(part.num_nodes(), nodes);
            }
    }
    EXPECT_THAT(members_of(nodes_of(2, 2, true), 2, config::Placement::compact), ElementsAre(0, 2));
    EXPECT_THAT(members_of(nodes_of(2, 2, false), 3, config::Placement::scatter), ElementsAre(0, 1, 2));
}

TEST(Binding, TellsWhoSharesCores) {
    Topology topology = nodes_of(2, 2, false);
    for (auto& place : topology.ranks) {
        place.affinity = std::to_string(place.local_rank);
        place.num_cores = 1;
    }
    EXPECT_EQ(binding_of(topology, {0, 1, 2, 3}), "1 core a rank") << "the same cores of different nodes";
    for (auto& place : topology.ranks) {
        place.affinity = "0-3";
        place.num_cores = 4;
    }
    EXPECT_EQ(binding_of(topology, {0}), "4 cores a rank");
    EXPECT_EQ(binding_of(topology, {0, 1}), "4 cores shared by 2 ranks");
    EXPECT_EQ(binding_of(topology, {0, 1, 2}), "4 cores a rank or 4 cores shared by 2 ranks");
}

TEST(FairThreads, ShareCoresAmongRanksWithTheSameMaskAndALimitAmongAll) {
    RankPlace place{.affinity = "0-7", .num_cores = 8};
    EXPECT_EQ(fair_threads(place, {"0-7"}), 8);
    EXPECT_EQ(fair_threads(place, {"0-7", "0-7", "8-15"}), 4);
    EXPECT_EQ(fair_threads(place, std::vector<std::string>(9, "0-7")), 1);
    place.processor_limit = 7.5;
    EXPECT_EQ(fair_threads(place, {"0-7"}), 7);
    EXPECT_EQ(fair_threads(place, {"0-7", "8-15"}), 3) << "the limit is one for both";
    place.processor_limit = 0.5;
    EXPECT_EQ(fair_threads(place, {"0-7"}), 1);
    place.processor_limit = 64;
    EXPECT_EQ(fair_threads(place, {"0-7"}), 8) << "no more than cores";
}

TEST(Ranks, AllIsNotMeasuredTwice) {
    config::PointSettings two = tiny_point(), all = tiny_point();
    two.ranks.count = 2;
    const auto points = points_of({two, all, all}, make_local_topology(2));
    EXPECT_EQ(points[0].refusal, "");
    EXPECT_THAT(points[1].refusal, AllOf(HasSubstr("ranks = "), HasSubstr("point 0")));
    const auto repeated = points_of({all, all}, make_local_topology(2));
    EXPECT_EQ(repeated[1].refusal, "") << "whoever writes a point twice wants it twice";
}

TEST(Ranks, ASceneGrowsWithThem) {
    config::PointSettings one = tiny_point();
    one.image.height_per_rank = 128;
    config::PointSettings all = one;
    one.ranks.count = 1;
    const auto points = points_of({one, all}, make_local_topology(3));
    EXPECT_EQ(points[0].source.extent, (Extent{128, 64}));
    EXPECT_EQ(points[1].source.extent, (Extent{384, 64}));
    EXPECT_EQ(points[1].settings.image.height, 384) << "what opens the image needs to know nothing of ranks";
    EXPECT_NE(points[0].key, points[1].key);
    all.image.path = "photo.png";
    EXPECT_THAT(usage_error([&] { (void)points_of({all}, make_local_topology(2)); }), HasSubstr("height_per_rank"));
}

TEST(Dynamic, AnyRankMayDoAnyWindow) {
    config::PointSettings settings = tiny_point();  // ten windows
    settings.schedule = config::Schedule::dynamic;
    settings.batch.count = 2;
    const Point point = points_of({settings}, make_local_topology(3)).front();
    const TileGrid grid = tile_grid(point);
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(windows_of_rank(point, grid, rank), (Range{0, 10}));
    EXPECT_EQ(windows_of_rank(point, grid, 3), Range{});
    const auto prediction = predict(point).value();
    EXPECT_DOUBLE_EQ(prediction.flop_busiest_rank, prediction.flop * 4 / 10) << "two batches of the five";
    EXPECT_EQ(calls_of_busiest_rank(point), 2);
    settings.workload = config::Workload::whole;
    EXPECT_THAT(usage_error([&] { (void)points_of({settings}, make_local_topology(1)); }), HasSubstr("schedule"));
}

TEST(Simulated, IsSaidInTheLabelAndTheNotes) {
    const Point point = points_of({simulated_point()}, make_local_topology(2)).front();
    EXPECT_TRUE(is_simulated(point));
    EXPECT_EQ(label_of(point), "simulated-dncnn-p64-h20-b1-fp32");
    EXPECT_THAT(point.notes, Contains(HasSubstr("0.75 s (T(b) = 0.5 s + 0.25 s b)")));
    config::PointSettings settings = simulated_point();
    const auto said = Contains(HasSubstr("the file that is written is the image itself"));
    EXPECT_THAT(point.notes, testing::Not(said));
    settings.output = config::OutputKind::file;
    EXPECT_THAT(points_of({settings}, make_local_topology(2)).front().notes, said);
}

TEST(Simulated, ASlowRankThatThePointDoesNotHaveIsSaid) {
    config::PointSettings settings = simulated_point();
    settings.timed.slow_rank = 1;
    settings.timed.slow_factor = 3;
    EXPECT_THAT(points_of({settings}, make_local_topology(2)).front().notes,
                Contains(AllOf(HasSubstr("rank 1 "), HasSubstr("3 x "))));
    EXPECT_THAT(points_of({settings}, make_local_topology(1)).front().notes,
                Contains(HasSubstr("timed.slow_rank = 1: ")));
    settings.engine = EngineKind::torch;
    EXPECT_THAT(points_of({settings}, make_local_topology(2)).front().notes, Contains(HasSubstr("timed.*")));
}

TEST(Simulated, RunsOnTheCpuWhateverItStandsFor) {
    Topology topology = make_local_topology(1);
    topology.ranks[0].device = {DeviceKind::cuda, 0};
    config::PointSettings settings = simulated_point();
    settings.dtype = Precision::fp16;
    const Point point = points_of({settings}, topology).front();
    EXPECT_EQ(point.device, DeviceKind::cpu);
    EXPECT_EQ(point.refusal, "");
    settings.device = config::DeviceChoice::cuda;
    EXPECT_THAT(usage_error([&] { (void)points_of({settings}, topology); }), HasSubstr("engine = timed"));
}

TEST(Simulated, WhatNeedsANetworkIsRefused) {
    const auto refusal_with = [](const char* key, const char* value) {
        config::PointSettings settings = simulated_point();
        config::set_by_key(settings, key, value);
        return usage_error([&] { (void)points_of({settings}, make_local_topology(1)); });
    };
    EXPECT_THAT(refusal_with("halo", "auto"), HasSubstr("halo = auto"));
    EXPECT_THAT(refusal_with("batch", "auto"), HasSubstr("batch = auto"));
    EXPECT_THAT(refusal_with("batch", "largest"), HasSubstr("batch = largest"));
    EXPECT_THAT(refusal_with("workload", "whole"), HasSubstr("workload: tiles"));
}

}  // namespace
}  // namespace pb::plan
