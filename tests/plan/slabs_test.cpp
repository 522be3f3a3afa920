#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "support/messages.hpp"
#include "support/planned_point.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace pb::plan {
namespace {

using test::planned;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

config::PointSettings exchanged_point(int64_t patch) {
    config::PointSettings settings;
    settings.engine = EngineKind::native;
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    settings.patch = patch;
    settings.image.height = 300;
    settings.image.width = 200;
    return settings;
}

std::vector<Range> rows_of_slabs(const Point& point) {
    std::vector<Range> rows;
    for (int rank = 0; rank < point.num_ranks; ++rank)
        if (const auto slab = slab_of_rank(point, rank)) rows.push_back(slab->shape().rows);
    return rows;
}

TEST(Exchanged, RanksOwnSlabsOfWholeTilesWhateverThePatchIs) {
    for (const int64_t patch : {1, 32, 100, 256}) {
        const Point point = planned(exchanged_point(patch), make_local_topology(3));  // 300 rows: 75 tiles
        EXPECT_EQ(rows_of_slabs(point), (std::vector<Range>{{0, 100}, {100, 200}, {200, 300}})) << patch;
        EXPECT_LE(tile_grid(point).window().h, std::max<int64_t>(patch, 4));
        EXPECT_EQ(tile_grid(point).window().w, 200);
        EXPECT_DOUBLE_EQ(processed_pixels(point), 300 * 200);
        EXPECT_EQ(predict(point)->pixels_per_forward, tile_grid(point).window().pixels());
        EXPECT_DOUBLE_EQ(predict(point)->flop_busiest_rank * 3, predict(point)->flop);
    }
    const Point point = planned(exchanged_point(32), make_local_topology(3));
    EXPECT_EQ(point.halo, 20);
    EXPECT_EQ(point.batch, 1);
    EXPECT_EQ(label_of(point), "dncnn-native-p32-hexchanged-b1-fp32");
    config::PointSettings carried = exchanged_point(32);
    carried.halo.kind = config::HaloSetting::Kind::carried;
    EXPECT_NE(point.key, planned(carried, make_local_topology(3)).key);
}

TEST(Exchanged, BandsAreThePatchWhereLowerOnesLeaveNoLessOver) {
    config::PointSettings settings = exchanged_point(32);
    settings.image.height = 160;  // 40 tiles: bands of 8 tiles leave none over, as those of 5 do
    EXPECT_EQ(tile_grid(planned(settings)).window().h, 32);
    settings.patch = 31;
    EXPECT_EQ(tile_grid(planned(settings)).window().h, 20);
}

TEST(Exchanged, TheFewestRowsAreThoseOfAnySlab) {
    config::PointSettings settings = exchanged_point(4);
    settings.image.height = 28;  // seven tiles, a band each
    EXPECT_EQ(slab_rows(planned(settings, make_local_topology(2))), (Range{12, 16}));
}

TEST(Exchanged, MemoryIsThatOfASlabBetweenTwoOthers) {
    const Point point = planned(exchanged_point(32), make_local_topology(3));  // slabs of 100 rows
    EXPECT_EQ(slab_bytes(point).in_out, int64_t{102 + 100} * 200 * 3 * 4);
    const network::ExchangedSlab slab = slab_of_rank(point, 1).value();
    EXPECT_EQ(slab_bytes(point).maps, network::plan_exchanged(point.graph(), slab).arena.bytes + scratch_bytes(point));
}

TEST(Exchanged, RanksBeyondTheSlabsOwnNothing) {
    config::PointSettings settings = exchanged_point(32);
    settings.image.height = 9;  // three tiles
    const Point point = planned(settings, make_local_topology(5));
    EXPECT_EQ(rows_of_slabs(point), (std::vector<Range>{{0, 4}, {4, 8}, {8, 9}}));
    EXPECT_EQ(windows_of_rank(point, tile_grid(point), 3), Range{});
    EXPECT_DOUBLE_EQ(predict(point)->flop_busiest_rank * 9, predict(point)->flop * 4);
    EXPECT_THAT(point.notes, Contains(HasSubstr("2 of 5 ranks have no slab")));
}

// Nine rows in slabs of 4: DnCNN's 19 maps of 64 channels, of 200 columns, to two neighbours.
TEST(Exchanged, MessagesAreCounted) {
    config::PointSettings settings = exchanged_point(32);
    settings.image.height = 9;
    const Point point = planned(settings, make_local_topology(3));
    const network::SlabTraffic traffic = busiest_traffic(point);
    EXPECT_EQ(traffic.messages, 2 * 19);
    EXPECT_EQ(traffic.largest, 200 * 64 * 4);
    EXPECT_EQ(traffic.bytes, 2 * 19 * traffic.largest);
    EXPECT_DOUBLE_EQ(exchange_seconds(point, {.latency_s = 1e-3, .bytes_per_s = 1e6}),
                     0.019 + static_cast<double>(traffic.bytes) / 1e6);
    EXPECT_THAT(point.notes,
                Contains(HasSubstr("3 slabs of 1 to 4 rows; a rank sends up to 38 messages a pass, 1.86 MiB, "
                                   "the largest 0.0488 MiB")));
    EXPECT_THAT(planned(settings, make_local_topology(2)).notes, Contains(HasSubstr("2 slabs of 1 to 8 rows")));
    const Point alone = planned(settings);
    EXPECT_EQ(busiest_traffic(alone).messages, 0);
    EXPECT_EQ(exchange_seconds(alone, {.latency_s = 1, .bytes_per_s = 1}), 0);
    EXPECT_THAT(alone.notes, IsEmpty());
}

TEST(Exchanged, TheSlabOfOneRankTakesTheImageAndGivesIt) {
    const Point alone = planned(exchanged_point(32));
    EXPECT_EQ(slab_bytes(alone).in_out, int64_t{300} * 200 * (3 + 3) * 4);
    Point on_gpu = alone;
    on_gpu.settings.engine = EngineKind::torch;
    const int64_t values = slab_bytes(on_gpu).in_out;
    on_gpu.device = DeviceKind::cuda;
    EXPECT_EQ(slab_bytes(on_gpu).in_out, values + int64_t{300} * 200 * (3 + 3) * sample_bytes(on_gpu))
        << "it holds the samples, too";
}

TEST(Exchanged, MemoryIsSharedOutOverRanks) {
    config::PointSettings settings = exchanged_point(32);
    settings.image.height = settings.image.width = 1024;
    const auto bytes = [&](int ranks) {
        return static_cast<double>(slab_bytes(planned(settings, make_local_topology(ranks))).all());
    };
    EXPECT_NEAR(bytes(4) / bytes(1), 0.25, 0.01);
}

TEST(Exchanged, RefusesWhatCannotExchangeRows) {
    const auto refused_with = [](auto change) {
        config::PointSettings settings = exchanged_point(32);
        change(settings);
        return usage_error([&] { (void)planned(settings); });
    };
    const auto names_the_halo = HasSubstr("halo = exchanged");
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.layout = Layout::contiguous;
                }),
                names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.engine = EngineKind::timed; }),
                testing::AllOf(names_the_halo, HasSubstr("engine timed")));
    EXPECT_THAT(refused_with([](auto& s) { s.schedule = config::Schedule::dynamic; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.dtype = Precision::bf16; }), HasSubstr("bf16"));
}

}  // namespace
}  // namespace pb::plan
