// Records of unequal length, with gaps, reach every rank as they were.
#include "comm/communicator.hpp"
#include "record/environment.hpp"
#include "run/point/team.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pb::run {
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

/// As long as the rank's number says, where it may.
record::RankTrace trace_of(int rank) {
    record::RankTrace trace;
    trace.rank = 10 + rank;
    trace.num_windows = int64_t{1} << (40 + rank);
    trace.wall_s = {1, 2.5 + rank};
    trace.stage_s.resize(2);
    trace.stage_s[1][static_cast<size_t>(record::Stage::d2h)] = 0.5;
    trace.forward_call_s.assign(static_cast<size_t>(rank), 0.25);
    trace.allocations = 3;
    trace.memory.host_peak = 7 + rank;
    trace.telemetry = record_of(rank);
    if (rank > 0) trace.bounds[record::Bound::h2d_gb_per_s] = rank;
    return trace;
}

/// With texts of 0, 8 and more bytes, one of them of several lines.
plan::RankPlace place_of(int rank) {
    plan::RankPlace place;
    place.rank = rank;
    place.host = std::string(static_cast<size_t>(7 + rank), 'n');
    place.device = DeviceId{DeviceKind::cuda, rank};
    place.device_name = "a GPU\nof two lines";
    place.affinity = "0-3,8-11";
    place.num_cores = 8;
    place.memory_bytes = (int64_t{1} << 40) + rank;
    place.free_host_bytes = 5 + rank;
    place.multiplies_bf16 = rank % 2 == 0;
    place.processor_limit = 1.5 + rank;
    return place;
}

struct Facts {
    std::map<std::string, std::string> variables;
    std::vector<std::string> names;
    std::vector<Range> runs;
    friend bool operator==(const Facts&, const Facts&) = default;
};

template <class V, record::Like<Facts> F>
void fields(V& v, F& facts) {
    v("variables", facts.variables);
    v("names", facts.names);
    v("runs", facts.runs);
}

void expect_equal(const plan::RankPlace& found, const plan::RankPlace& expected) {
    EXPECT_EQ(found.rank, expected.rank);
    EXPECT_EQ(found.host, expected.host);
    EXPECT_EQ(found.device, expected.device);
    EXPECT_EQ(found.device_name, expected.device_name);
    EXPECT_EQ(found.device_uuid, expected.device_uuid);
    EXPECT_EQ(found.affinity, expected.affinity);
    EXPECT_EQ(found.num_cores, expected.num_cores);
    EXPECT_EQ(found.memory_bytes, expected.memory_bytes);
    EXPECT_EQ(found.free_host_bytes, expected.free_host_bytes);
    EXPECT_EQ(found.multiplies_bf16, expected.multiplies_bf16);
    EXPECT_EQ(found.processor_limit, expected.processor_limit);
}

void expect_equal(const TelemetryRecord& found, const TelemetryRecord& expected) {
    EXPECT_EQ(found.first_on_node, expected.first_on_node);
    EXPECT_EQ(found.meters, expected.meters);
    ASSERT_EQ(found.samples.size(), expected.samples.size());
    for (size_t i = 0; i < expected.samples.size(); ++i) {
        EXPECT_EQ(found.samples[i].at_s, expected.samples[i].at_s);
        EXPECT_EQ(found.samples[i].gauges, expected.samples[i].gauges);
    }
}

TEST(GatherRecords, EveryRankHasTheTelemetryOfAll) {
    const comm::Communicator world = comm::Communicator::world();
    const auto reduction = comm::make_metric_reduction(world, ReductionKind::mpi, {}, false, 60);
    const auto records = gather_records(*reduction, record_of(world.rank()));
    ASSERT_EQ(std::ssize(records), world.size());
    for (int rank = 0; rank < world.size(); ++rank) expect_equal(records[static_cast<size_t>(rank)], record_of(rank));
}

TEST(GatherRecords, EveryRankHasTheTracesOfAll) {
    const comm::Communicator world = comm::Communicator::world();
    const auto reduction = comm::make_metric_reduction(world, ReductionKind::mpi, {}, false, 60);
    const auto traces = gather_records(*reduction, trace_of(world.rank()));
    ASSERT_EQ(std::ssize(traces), world.size());
    for (int rank = 0; rank < world.size(); ++rank) {
        const record::RankTrace expected = trace_of(rank);
        const record::RankTrace& found = traces[static_cast<size_t>(rank)];
        EXPECT_EQ(found.rank, expected.rank);
        EXPECT_EQ(found.num_windows, expected.num_windows);
        EXPECT_EQ(found.wall_s, expected.wall_s);
        EXPECT_EQ(found.stage_s, expected.stage_s);
        EXPECT_EQ(found.forward_call_s, expected.forward_call_s);
        EXPECT_EQ(found.allocations, expected.allocations);
        EXPECT_EQ(found.memory.host_peak, expected.memory.host_peak);
        EXPECT_EQ(found.bounds, expected.bounds);
        expect_equal(found.telemetry, expected.telemetry);
    }
}

TEST(GatherRecords, ARowHoldsMapsListsOfTextsAndRanges) {
    const Facts facts{{{"CUDA_VISIBLE_DEVICES", "0,1"}, {"OMP_NUM_THREADS", ""}}, {"", "12345678", "a\nb\t"}, {{3, 9}}};
    EXPECT_EQ(record::unpack<Facts>(record::pack(facts)), facts);
}

TEST(GatherRecords, EveryRankHasThePlacesOfAll) {
    const comm::Communicator world = comm::Communicator::world();
    const auto reduction = comm::make_metric_reduction(world, ReductionKind::mpi, {}, false, 60);
    const auto places = gather_records(*reduction, place_of(world.rank()));
    ASSERT_EQ(std::ssize(places), world.size());
    for (int rank = 0; rank < world.size(); ++rank) expect_equal(places[static_cast<size_t>(rank)], place_of(rank));
}

}  // namespace
}  // namespace pb::run
