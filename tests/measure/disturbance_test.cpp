// What the kernels' counters say went on while a point was timed.
#include "record/point.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::record {
namespace {

/// Ten seconds on a quiet host: the rank used all of the time that the host did.
TelemetryRecord quiet() {
    TelemetryRecord record;
    record[Meter::observed_s] = 10;
    record[Meter::own_cpu_s] = 20;
    record[Meter::host_cpu_s] = 20.5;
    record[Meter::steal_s] = 0.2;
    record[Meter::cpu_pressure_s] = 0.5;
    record[Meter::cpu_clock_begin_mhz] = 3000;
    record[Meter::cpu_clock_end_mhz] = 2950;
    return record;
}

RankTrace rank_on(const char* host, const TelemetryRecord& record) {
    RankTrace rank;
    rank.host = host;
    rank.telemetry = record;
    return rank;
}

std::string said_of(const TelemetryRecord& record) {
    const std::vector<RankTrace> ranks{rank_on("node1", record)};
    return disturbance_of(ranks);
}

TEST(Disturbance, AQuietHostHasNone) {
    EXPECT_EQ(said_of(quiet()), "");
    EXPECT_EQ(disturbance_of({}), "");
}

TEST(Disturbance, EachCauseIsNamedByItself) {
    const std::pair<Meter, std::pair<double, const char*>> cases[] = {
        {Meter::steal_s, {12, "node1: the hypervisor gave 1.2 of its cores to others (steal time)"}},
        {Meter::host_cpu_s, {33, "node1: other processes used 1.3 cores"}},
        {Meter::cpu_pressure_s, {3.4, "node1: something waited for a core 34 % of the time"}},
        {Meter::cpu_clock_end_mhz, {2400, "node1: the processors' clock went from 3.00 to 2.40 GHz"}},
        {Meter::cpu_clock_end_mhz, {3300, "node1: the processors' clock went from 3.00 to 3.30 GHz"}}};
    for (const auto& [meter, expected] : cases) {
        TelemetryRecord record = quiet();
        record[meter] = expected.first;
        EXPECT_EQ(said_of(record), expected.second);
    }
}

TEST(Disturbance, AFewTicksOfAShortPointAreNone) {
    TelemetryRecord record;
    record[Meter::observed_s] = 0.1;
    record[Meter::own_cpu_s] = 0.1;
    record[Meter::host_cpu_s] = 0.13;
    record[Meter::steal_s] = record[Meter::cpu_pressure_s] = 0.03;
    EXPECT_EQ(said_of(record), "");
    record[Meter::host_cpu_s] = 0.16;
    EXPECT_EQ(said_of(record), "node1: other processes used 0.6 cores");
}

TEST(Disturbance, RanksThatWaitForEachOtherAreNoForeignWork) {
    TelemetryRecord record = quiet();
    record[Meter::cpu_pressure_s] = 9;
    std::vector<RankTrace> ranks{rank_on("node1", record)};
    EXPECT_EQ(foreign_work_of(ranks), "");
    ranks[0].telemetry[Meter::steal_s] = 12;
    EXPECT_EQ(foreign_work_of(ranks), "node1: the hypervisor gave 1.2 of its cores to others (steal time)");
}

TEST(Disturbance, RanksOfAHostAreNoOtherProcesses) {
    TelemetryRecord first = quiet(), second, elsewhere = quiet();
    first[Meter::host_cpu_s] = 38;
    second[Meter::own_cpu_s] = 17.5;
    elsewhere[Meter::steal_s] = 10;
    const std::vector<RankTrace> ranks{rank_on("node1", first), rank_on("node1", second), rank_on("node2", elsewhere)};
    EXPECT_EQ(disturbance_of(ranks), "node2: the hypervisor gave 1.0 of its cores to others (steal time)");
}

TEST(Disturbance, OthersCountAsMultiplesOfTheRanksOfAHost) {
    PointTrace trace;
    trace.point.device = DeviceKind::cpu;
    TelemetryRecord crowded = quiet(), second;
    crowded[Meter::own_cpu_s] = 1.5;
    second[Meter::own_cpu_s] = 0.5;
    crowded[Meter::host_cpu_s] = 20;
    crowded[Meter::steal_s] = 4;
    crowded[Meter::cpu_pressure_s] = 5;
    std::vector<RankTrace>& ranks = trace.ranks;
    ranks = {rank_on("node1", crowded), rank_on("node1", second), rank_on("node2", quiet())};
    EXPECT_DOUBLE_EQ(crowding_of(trace), 11) << "(20 - 1.5 - 0.5 + 4) / 2";
    ranks[2].telemetry[Meter::cpu_pressure_s] = 5;
    EXPECT_DOUBLE_EQ(crowding_of(trace), 11) << "of the other host 0.7 / 20";
    ranks[0].telemetry[Meter::cpu_pressure_s] = 4.9;
    EXPECT_DOUBLE_EQ(crowding_of(trace), 0.035) << "there were cores left on the first";
    ranks.pop_back();
    ranks[0].telemetry[Meter::cpu_pressure_s] = 10;
    ranks[1].telemetry[Meter::own_cpu_s] = std::nullopt;
    EXPECT_EQ(crowding_of(trace), 0);
    ranks.erase(ranks.begin() + 1);
    ranks[0].telemetry[Meter::observed_s] = 0.9;
    EXPECT_EQ(crowding_of(trace), 0) << "a few ticks";
}

TEST(Disturbance, WhatCannotBeReadIsNotGuessed) {
    EXPECT_EQ(said_of(TelemetryRecord{}), "");
    TelemetryRecord record = quiet();
    record[Meter::host_cpu_s] = 33;
    record[Meter::own_cpu_s] = std::nullopt;
    EXPECT_EQ(said_of(record), "") << "without the rank's own time nothing says whose the host's was";
    TelemetryRecord second;
    second[Meter::own_cpu_s] = 1;
    EXPECT_EQ(disturbance_of(std::vector{rank_on("node1", record), rank_on("node1", second)}), "");
}

}  // namespace
}  // namespace pb::record
