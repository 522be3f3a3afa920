// Records of unequal length, with gaps, reach every rank as they were.
#include "run/point/gather_telemetry.hpp"

#include "comm/communicator.hpp"

#include <gtest/gtest.h>

namespace pb {
namespace {

TelemetryRecord record_of(int rank) {
    TelemetryRecord record;
    record.first_on_node = rank % 2 == 0;
    record[Meter::observed_s] = 10 + rank;
    if (rank > 0) record[Meter::energy_j] = 0;  // 0 is not absent
    for (int i = 0; i < 3 * rank; ++i) {
        auto& sample = record.samples.emplace_back();
        sample.at_s = 0.1 * i;
        sample[Gauge::temperature_c] = 40 + i;
        if (i != 1) sample[Gauge::power_w] = 0.5 * rank;
    }
    return record;
}

TEST(GatherTelemetry, EveryRankHasTheRecordsOfAll) {
    const Communicator world = Communicator::world();
    const auto reduction = make_metric_reduction(world, ReductionKind::mpi, {}, false, 60);
    std::vector<RankTrace> ranks(static_cast<size_t>(world.size()));
    gather_telemetry(*reduction, record_of(world.rank()), ranks);
    for (int rank = 0; rank < world.size(); ++rank) {
        const TelemetryRecord expected = record_of(rank);
        const TelemetryRecord& found = ranks[static_cast<size_t>(rank)].telemetry;
        EXPECT_EQ(found.first_on_node, expected.first_on_node);
        EXPECT_EQ(found.meters, expected.meters);
        ASSERT_EQ(found.samples.size(), expected.samples.size());
        for (size_t i = 0; i < expected.samples.size(); ++i) {
            EXPECT_EQ(found.samples[i].at_s, expected.samples[i].at_s);
            EXPECT_EQ(found.samples[i].gauges, expected.samples[i].gauges);
        }
    }
}

}  // namespace
}  // namespace pb
