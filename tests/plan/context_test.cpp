// Which way of giving context `halo: auto` takes, by arithmetic alone.
#include "plan/context.hpp"

#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "support/planned_point.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace pb::plan {
namespace {

using test::planned;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// DnCNN by engine native: several patches, no row read twice on one rank.
config::PointSettings weighed_point() {
    config::PointSettings settings;
    settings.engine = EngineKind::native;
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    settings.patch = 64;
    settings.image.height = 300;
    settings.image.width = 200;
    return settings;
}

ContextWay way_of(double work_px, bool is_exact, double peak_mib, const std::string& obstacle = "") {
    ContextWay way;
    way.work_px = work_px;
    way.is_exact = is_exact;
    way.peak_mib = peak_mib;
    way.obstacle = obstacle;
    return way;
}

TEST(Context, CarriesRowsWithoutASearchWhereThatIsLeastWork) {
    const Point point = planned(weighed_point());
    EXPECT_EQ(point.band_rows, 64);
    EXPECT_EQ(point.halo, 20) << "the pixels are those of the exact halo";
    EXPECT_EQ(point.batch, 1);
    EXPECT_EQ(label_of(point), "dncnn-native-p64-hcarried-b1-fp32");
    EXPECT_DOUBLE_EQ(processed_pixels(point), 300 * 200);
    EXPECT_THAT(point.halo_note, HasSubstr("halo = auto: carried rows in bands of 64, exact, 1 x the arithmetic"));
    EXPECT_THAT(point.notes, testing::Contains(AllOf(StartsWith(point.halo_note + "; tiles with the exact halo of "),
                                                     HasSubstr("; tiles with a halo of at least 1 px, at least "))));
}

TEST(Context, WaysAreTheSameForAPointThatTookOne) {
    const Point point = planned(weighed_point());
    ASSERT_TRUE(is_carried(point));
    const std::vector<ContextWay> ways = context_ways(point, 3);
    ASSERT_EQ(ways.size(), 3U);
    EXPECT_THAT(way_text(ways[1]), StartsWith("tiles with the exact halo of 20"));
    EXPECT_EQ(way_text(ways[2]), "tiles with a halo of 3 px");
}

TEST(Context, KeyIsThatOfTheSettingWhateverIsTaken) {
    config::PointSettings settings = weighed_point();
    const std::string key = planned(settings).key;
    settings.engine = EngineKind::torch;  // leaves the halo open
    Point open = planned(settings);
    open.settings.engine = EngineKind::native;
    EXPECT_EQ(key_of(open), key);
}

TEST(Context, AHostThatDoesNotTellItsMemoryBoundsNothing) {
    Topology topology = make_local_topology(2);
    for (RankPlace& place : topology.ranks) place.node = place.rank;
    Point point;
    point.num_ranks = 2;
    EXPECT_EQ(most_mib_of(point, topology), 0) << "unknown";
    topology.ranks[1].free_host_bytes = int64_t{8} << 30;
    EXPECT_EQ(most_mib_of(point, topology), 4096) << "half of what the other one has";
    topology.ranks[0].free_host_bytes = int64_t{80} << 30;
    point.num_ranks = 1;
    EXPECT_EQ(most_mib_of(point, topology), 40960) << "the other one takes no part";
}

TEST(Context, IsNotWeighedForOnePatchSmallImagesOtherEnginesAndTheLargestBatch) {
    const auto stays_open = [](auto change) {
        config::PointSettings settings = weighed_point();
        change(settings);
        const Point point = planned(settings);
        return !is_weighed(point) && !point.halo && point.halo_note.empty();
    };
    EXPECT_TRUE(stays_open([](auto& s) { s.patch = 300; }));
    EXPECT_TRUE(stays_open([](auto& s) { s.image.height = 81; })) << "it shares batches with other images";
    EXPECT_FALSE(stays_open([](auto& s) { s.image.height = 82; }));
    EXPECT_FALSE(stays_open([](auto& s) { s.image.height = s.image.width = 128; })) << "its calls are full";
    EXPECT_TRUE(stays_open([](auto& s) { s.engine = EngineKind::onnxruntime; }));
    EXPECT_FALSE(stays_open([](auto& s) { s.engine = EngineKind::torch; }));
    EXPECT_TRUE(stays_open([](auto& s) {
        s.engine = EngineKind::torch;
        s.dtype = Precision::bf16;
    }));
    EXPECT_TRUE(stays_open([](auto& s) { s.batch = {0, true}; }));
    config::PointSettings settings = weighed_point();
    settings.halo.kind = config::HaloSetting::Kind::exact;
    EXPECT_FALSE(is_weighed(planned(settings))) << "its halo is given";
}

TEST(Context, SeveralRanksExchangeRowsWhereTheirBordersCostMore) {
    const Point point = planned(weighed_point(), make_local_topology(5));  // carried: 76 rows a border again
    EXPECT_TRUE(point.exchanges_rows);
    EXPECT_FALSE(point.band_rows.has_value());
    EXPECT_EQ(point.halo, 20);
    EXPECT_EQ(label_of(point), "dncnn-native-p64-hexchanged-b1-fp32");
    EXPECT_DOUBLE_EQ(processed_pixels(point), 300 * 200);
    const std::string taken = "halo = auto: exchanged rows, exact, 1 x the arithmetic";
    EXPECT_EQ(point.halo_note, taken);
    EXPECT_THAT(point.notes, testing::Contains(AllOf(StartsWith(taken + "; carried rows"), Not(HasSubstr("tiles")))))
        << "which have other bits";
    EXPECT_THAT(point.notes, testing::Contains(StartsWith("halo = exchanged: 5 slabs of ")));
}

TEST(Context, SeveralRanksKeepTheBitsOfOne) {
    config::PointSettings settings = weighed_point();
    settings.image.height = settings.patch = 150;  // two patches: two ranks share them evenly
    settings.image.width = 300;
    settings.batch.count = 1;
    const Point point = planned(settings, make_local_topology(2));
    EXPECT_TRUE(is_in_bands(point)) << point.halo_note;
    for (const ContextWay& way : context_ways(point, 1))
        EXPECT_EQ(way.obstacle.empty(), is_in_bands(way.point)) << way_text(way);
    EXPECT_EQ(std::ranges::count_if(context_ways(point, 1), [](auto& way) { return is_exchanged(way.point); }), 1);
    const Point alone = planned(settings);
    EXPECT_EQ(context_ways(alone, 1).size(), 3U) << "nothing is exchanged";
    for (const ContextWay& way : context_ways(alone, 1)) EXPECT_EQ(way.obstacle, "");
}

TEST(Context, TwoRanksShareThinnerBandsMoreEvenly) {
    config::PointSettings settings = weighed_point();
    settings.image.height = 192;  // three bands of 64 rows, six of 32
    const auto rows_of = [&](int ranks) {
        return context_ways(planned(settings, make_local_topology(ranks)), 1).front().point.band_rows;
    };
    EXPECT_EQ(rows_of(1), 64);
    EXPECT_EQ(rows_of(2), 32);
    settings.image.height = 256;
    EXPECT_EQ(rows_of(2), 64) << "thick ones are shared as evenly";
    settings.image.height = 96;
    EXPECT_EQ(rows_of(2), 64) << "only bands of 16 rows would be shared more evenly";
}

TEST(Context, TilesAreWeighedWithTheirBatch) {
    config::PointSettings settings = weighed_point();
    for (const auto& [asked, weighed] : {std::pair<int64_t, int64_t>{4, 4}, {0, 1}}) {  // 0: auto
        settings.batch.count = asked;
        EXPECT_EQ(context_ways(planned(settings), 1).back().point.batch, weighed) << asked;
    }
}

TEST(Context, ASmallExactHaloOfUnknownLayersIsTakenWithoutASearch) {
    config::PointSettings settings = small_point();
    settings.halo = {config::HaloSetting::Kind::automatic, 0};
    settings.engine = EngineKind::onnxruntime;
    settings.network = network::kCustomKind;
    settings.network.file = "own.onnx";
    for (const auto& [exact, is_taken] : {std::pair{20, true}, {32, true}, {33, false}}) {  // patches are of 64
        settings.network.card = network::NetworkCard{.radius = exact, .halo = exact};
        const Point point = point_of(settings);
        EXPECT_EQ(point.halo, is_taken ? std::optional<int64_t>(exact) : std::nullopt);
        const auto said =
            HasSubstr("the exact one of " + std::to_string(exact) + " px, because the layers of own.onnx");
        EXPECT_EQ(testing::Value(point.halo_note, said), is_taken);
    }
    settings.network.card = network::NetworkCard{};  // unbounded
    EXPECT_EQ(point_of(settings).halo, std::nullopt);
}

TEST(Context, ASearchDecidesBetweenTiles) {
    config::PointSettings settings = weighed_point();
    settings.batch.count = 1;
    settings.schedule = config::Schedule::dynamic;
    Point point = planned(settings, make_local_topology(5));
    EXPECT_FALSE(point.halo.has_value());
    Point exact = point;
    settle_searched_halo(point, 3);
    EXPECT_EQ(point.halo, 3);
    EXPECT_FALSE(point.band_rows.has_value());
    EXPECT_THAT(point.halo_note, HasSubstr("tiles with a halo of 3 px, with seams below halo_tolerance"));
    EXPECT_FALSE(context_ways(exact, 19).back().is_exact);
    EXPECT_TRUE(context_ways(exact, 20).back().is_exact);
    settle_searched_halo(exact, 19);
    EXPECT_THAT(exact.halo_note, HasSubstr("tiles with the exact halo of 20 px, "))
        << "all are equal, and this takes least memory";
}

TEST(Context, DynamicSharesCarryNoRows) {
    config::PointSettings settings = weighed_point();
    settings.schedule = config::Schedule::dynamic;
    const Point point = planned(settings);
    EXPECT_FALSE(point.halo.has_value());
    EXPECT_EQ(context_ways(point, 8).size(), 2U);
}

TEST(Context, BandsAreAsThinAsTheMemoryLimitAsks) {
    config::PointSettings settings = weighed_point();
    settings.image.width = 2000;
    const auto peak_mib = [&](int64_t rows) {
        config::PointSettings carried = settings;
        carried.halo.kind = config::HaloSetting::Kind::carried;
        carried.patch = rows;
        return predict(planned(carried))->peak_mib;
    };
    settings.memory_limit_mib = static_cast<int64_t>((peak_mib(32) + peak_mib(64)) / 2);
    EXPECT_EQ(planned(settings).band_rows, 32);
    settings.memory_limit_mib = static_cast<int64_t>(peak_mib(64)) - 1;
    EXPECT_EQ(planned(settings).band_rows, 32) << "thinner bands cost less than small tiles";
    EXPECT_FALSE(planned(settings).winograd_tile.has_value());
    settings.memory_limit_mib = static_cast<int64_t>(peak_mib(32)) - 8;  // small tiles save less
    EXPECT_TRUE(context_ways(planned(settings), 8).front().point.strip_columns.has_value());
    settings.memory_limit_mib = 8;  // less than any strips take
    const Point tiles = planned(settings);
    EXPECT_FALSE(tiles.band_rows.has_value());
    EXPECT_THAT(context_ways(tiles, 8).front().obstacle, HasSubstr("MiB a rank"));
    EXPECT_EQ(context_ways(tiles, 8).front().point.band_rows, 32) << "the least that is missing";
    settings.image.width = 12'000;  // strips cost little there
    settings.memory_limit_mib = 0;
    settings.memory_limit_mib = static_cast<int64_t>(peak_mib(64)) - 1;
    EXPECT_EQ(planned(settings).band_rows, 32);
    EXPECT_FALSE(planned(settings).strip_columns.has_value()) << "thinner bands take about as long";
}

TEST(Context, ASearchedHaloOfASmallImageLeavesTheMemoryLimitToSmallTiles) {
    config::PointSettings settings = weighed_point();
    settings.image.height = 81;  // not weighed
    settings.batch.count = 1;
    Point usual = planned(settings);
    settle_searched_halo(usual, 8);
    settings.memory_limit_mib = static_cast<int64_t>(predict(usual)->peak_mib);
    Point limited = planned(settings);
    settle_searched_halo(limited, 8);
    EXPECT_EQ(limited.winograd_tile, 2);
}

TEST(Context, WaysWithSmallTilesCostMore) {
    config::PointSettings settings = weighed_point();
    settings.memory_limit_mib = 14;  // 10 of them for the weights of the usual tiles
    Point point = planned(settings);
    const std::vector<ContextWay> ways = context_ways(point, 1);
    const auto is_small = [](const ContextWay& way) { return way.point.winograd_tile.has_value(); };
    EXPECT_TRUE(std::ranges::any_of(ways, is_small));
    for (const ContextWay& way : ways) {
        const double pixels = predict(way.point)->flop_busiest_rank / (2 * point.facts().mac_per_pixel);
        EXPECT_EQ(way.work_px > 1.5 * pixels, is_small(way)) << way_text(way);
        EXPECT_EQ(testing::Value(way_text(way), HasSubstr(", Winograd tiles of 2 x 2 (1.6 x the time)")),
                  is_small(way));
    }
    settle_searched_halo(point, 1);
    EXPECT_EQ(point.winograd_tile, 2) << point.halo_note;
    EXPECT_THAT(point.notes, testing::Contains(HasSubstr("Winograd tiles of 2 x 2")));
}

TEST(Context, WhatIsTakenSaysThatItDoesNotFit) {
    config::PointSettings settings = weighed_point();
    settings.memory_limit_mib = 4;
    Point point = planned(settings);
    settle_searched_halo(point, 12);
    EXPECT_THAT(point.halo_note, AllOf(StartsWith("halo = auto: "), HasSubstr(" x the arithmetic, but takes "),
                                       testing::EndsWith(" MiB a rank, 4 are allowed")));
}

TEST(Context, SeveralRanksTakeNoTilesWhereOneCarriesRowsRatherThanTheSearchedHalo) {
    config::PointSettings settings = weighed_point();
    settings.image.height = 256;
    settings.image.width = 1024;
    settings.memory_limit_mib = 30;  // strips cost more than tiles with the smallest halo, less than with this one
    for (const int ranks : {1, 2, 4}) {
        Point point = planned(settings, make_local_topology(ranks));
        ASSERT_FALSE(point.halo.has_value()) << "a halo is searched";
        settle_searched_halo(point, 12);
        EXPECT_TRUE(is_in_bands(point)) << ranks << ": " << point.halo_note;
    }
}

TEST(Context, ExchangedRowsCostAsMapsOfTheWholeWidth) {
    const std::vector<ContextWay> ways = context_ways(planned(weighed_point(), make_local_topology(3)), 1);
    const auto exchanged = std::ranges::find_if(ways, [](const ContextWay& way) { return is_exchanged(way.point); });
    ASSERT_NE(exchanged, ways.end());
    const Point& point = exchanged->point;
    const double pixels = predict(point)->flop_busiest_rank / (2 * point.facts().mac_per_pixel);
    EXPECT_NEAR(exchanged->work_px, band_cost(int64_t{1} << 40) * pixels, 1e-6 * pixels) << "without starts of bands";
}

TEST(Context, RanksOfAHostShareHalfOfItsFreeMemory) {
    Topology topology = make_local_topology(2);
    for (RankPlace& place : topology.ranks) place.free_host_bytes = int64_t{400} << 20;
    EXPECT_DOUBLE_EQ(planned(weighed_point(), topology).most_mib, 100);
    Topology apart = topology;
    apart.num_apart = 4;
    EXPECT_DOUBLE_EQ(planned(weighed_point(), apart).most_mib, 25) << "ranks beside them denoise other images";
    config::PointSettings settings = weighed_point();
    settings.memory_limit_mib = 300;
    EXPECT_DOUBLE_EQ(planned(settings, topology).most_mib, 300);
    EXPECT_DOUBLE_EQ(planned(weighed_point()).most_mib, 0) << "unknown";
}

TEST(Context, TheCheapestWayIsExactAmongEqualsAndThenTheSmallest) {
    const auto chosen = [](const std::vector<ContextWay>& ways) { return cheapest_way(ways).peak_mib; };
    EXPECT_EQ(chosen({way_of(107, true, 1), way_of(100, false, 2)}), 1);
    EXPECT_EQ(chosen({way_of(109, true, 1), way_of(100, false, 2)}), 2);
    EXPECT_EQ(chosen({way_of(100, true, 4), way_of(101, true, 3), way_of(99, false, 2)}), 3);
    EXPECT_EQ(chosen({way_of(1, true, 9, "too large"), way_of(100, false, 2)}), 2);
    EXPECT_EQ(chosen({way_of(1, true, 9, "too large"), way_of(100, false, 8, "too large")}), 8);
}

TEST(Context, ThinBandsCostMore) {
    EXPECT_GT(band_cost(32), band_cost(64));
    EXPECT_GT(band_cost(100000), 1) << "than windows";
    EXPECT_LT(band_cost(32), 1.2);
}

}  // namespace
}  // namespace pb::plan
