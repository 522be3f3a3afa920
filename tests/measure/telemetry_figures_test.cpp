#include "measure/summary.hpp"
#include "telemetry_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Telemetry, EnergyIsOfOnePassOfAllDevicesAndOfEachHostOnce) {
    const Summary summary = summarise(watched_trace());
    EXPECT_DOUBLE_EQ(summary.energy_j.value(), 3600 / 6.0);
    EXPECT_DOUBLE_EQ(summary.energy_j_per_mpx.value(), 600 / 1.25);
    EXPECT_DOUBLE_EQ(summary.cpu_energy_j.value(), 1200 / 6.0);
    EXPECT_DOUBLE_EQ(summary.cpu_energy_j_per_mpx.value(), 200 / 1.25);
}

TEST(Telemetry, ASumThatLacksAPartIsAbsent) {
    record::PointTrace trace = watched_trace();
    trace.ranks[2].telemetry[Meter::energy_j].reset();
    trace.ranks[2].telemetry[Meter::cpu_energy_j].reset();
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.energy_j, std::nullopt);
    EXPECT_EQ(summary.energy_j_per_mpx, std::nullopt);
    EXPECT_EQ(summary.cpu_energy_j, std::nullopt);
}

TEST(Telemetry, TheSlowestClockAndTheHottestDeviceCount) {
    const Summary summary = summarise(watched_trace());
    EXPECT_EQ(summary.sm_clock_mhz, 1800);
    EXPECT_EQ(summary.gpu_temperature_c, 60);
    EXPECT_EQ(summary.gpu_utilisation_percent, 90);
}

TEST(Telemetry, AClockIsTheMedianOfItsSamplesAndUtilisationTheirMean) {
    record::PointTrace trace = watched_trace();
    trace.ranks[0].telemetry.samples[0][Gauge::sm_clock_mhz] = 300;       // then 1800 and 1850
    trace.ranks[1].telemetry.samples[0][Gauge::utilisation_percent] = 0;  // then 90 and 120
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.sm_clock_mhz, 1800);
    EXPECT_DOUBLE_EQ(summary.gpu_utilisation_percent.value(), (90 + 70 + 90) / 3.0);
}

TEST(Telemetry, WithoutAnyEverythingIsAbsentAndThePointIsValid) {
    const Summary summary = summarise(three_rank_trace());
    for (const auto& figure : {summary.energy_j, summary.energy_j_per_mpx, summary.cpu_energy_j,
                               summary.cpu_energy_j_per_mpx, summary.sm_clock_mhz, summary.gpu_utilisation_percent,
                               summary.gpu_temperature_c, summary.throttled_s, summary.power_cap_s})
        EXPECT_EQ(figure, std::nullopt);
    EXPECT_EQ(summary.validity, Validity::valid);
    EXPECT_EQ(summarise(watched_trace()).validity, Validity::valid);
}

TEST(Telemetry, ACpuRanksUtilisationIsNoFigureOfAGpu) {
    record::PointTrace trace = watched_trace();
    trace.point.device = DeviceKind::cpu;
    EXPECT_EQ(summarise(trace).gpu_utilisation_percent, std::nullopt);
}

TEST(Telemetry, AThrottledDeviceMakesThePointInvalid) {
    for (const Meter meter : {Meter::thermal_s, Meter::hardware_slowdown_s}) {
        record::PointTrace trace = watched_trace();
        trace.ranks[1].telemetry[meter] = 0.3;  // out of 20 s
        const Summary summary = summarise(trace);
        EXPECT_EQ(summary.validity, Validity::invalid);
        EXPECT_THAT(summary.reasons, Contains(HasSubstr("slowed itself down")));
        EXPECT_EQ(summary.throttled_s, 0.3);
        trace.ranks[1].telemetry[meter] = 0.1;
        EXPECT_EQ(summarise(trace).validity, Validity::valid) << "less than 1 % changes no figure";
        trace.ranks[1].telemetry[Meter::observed_s] = 9;
        EXPECT_EQ(summarise(trace).validity, Validity::invalid) << "of the time of that rank";
    }
}

TEST(Telemetry, ThePowerLimitAndOtherProcessesAreWarnings) {
    record::PointTrace trace = watched_trace();
    EXPECT_THAT(summarise(trace).notes, Not(Contains(HasSubstr("GPU"))));
    trace.ranks[2].telemetry[Meter::power_cap_s] = 5;
    trace.ranks[0].telemetry[Meter::other_processes] = 1;
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.validity, Validity::valid);
    EXPECT_THAT(summary.notes, Contains(HasSubstr("power limit")));
    EXPECT_THAT(summary.notes, Contains(HasSubstr("other processes")));
}

}  // namespace
}  // namespace pb::measure
