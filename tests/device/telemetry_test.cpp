#include "device/telemetry/telemetry.hpp"

#include "device/host_memory.hpp"
#include "device/processors.hpp"
#include "device/telemetry/gauge_sampler.hpp"
#include "device/telemetry/host_counters.hpp"
#include "device/telemetry/nvml.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace pb::device {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

TelemetryOptions options_for(const std::string& library, const std::string& uuid = "GPU-fake") {
    TelemetryOptions options;
    options.device_uuid = uuid;
    options.pci_bus_id = "0000:0a:00.0";
    options.nvml_library = library;
    return options;
}

/// Two passes of `pass` each.
TelemetryRecord record_of(const TelemetryOptions& options, std::chrono::milliseconds pass = 1ms) {
    Telemetry telemetry(options);
    TelemetryWindow window(telemetry);
    for (int i = 0; i < 2; ++i) {
        window.pass_begins();
        std::this_thread::sleep_for(pass);
        window.pass_ends();
    }
    return window.finish();
}

TEST(Nvml, GaugesAreSampledOverTime) {
    const TelemetryRecord record = record_of(options_for(FAKE_NVML), 120ms);
    ASSERT_GE(record.samples.size(), 2U);
    double last_s = -1;
    for (const auto& sample : record.samples) {
        EXPECT_GT(sample.at_s, last_s);
        last_s = sample.at_s;
        EXPECT_EQ(sample[Gauge::sm_clock_mhz], 1980);
        EXPECT_EQ(sample[Gauge::memory_clock_mhz], 3201);
        EXPECT_EQ(sample[Gauge::temperature_c], 41);
        EXPECT_EQ(sample[Gauge::power_w], 350.5);
        EXPECT_EQ(sample[Gauge::utilisation_percent], 97);
    }
    EXPECT_EQ(record[Meter::observed_s], last_s);
}

TEST(Nvml, CountersAreTheirGrowth) {
    const TelemetryRecord record = record_of(options_for(FAKE_NVML), 510ms);
    EXPECT_DOUBLE_EQ(record[Meter::energy_j].value(), 10);  // 5 J between two readings, two passes
    EXPECT_DOUBLE_EQ(record[Meter::thermal_s].value(), 2);
    EXPECT_DOUBLE_EQ(record[Meter::power_cap_s].value(), 0.5);
    EXPECT_EQ(record[Meter::hardware_slowdown_s], 0);
}

TEST(Nvml, CountersOfEitherLongTypeCount) {
    const test::EnvironmentVariable longs("FAKE_NVML_LONG", "1");
    EXPECT_DOUBLE_EQ(record_of(options_for(FAKE_NVML), 60ms)[Meter::thermal_s].value(), 2);
}

TEST(Nvml, EnergyOfShortPassesIsAbsent) { EXPECT_EQ(record_of(options_for(FAKE_NVML))[Meter::energy_j], std::nullopt); }

TEST(Nvml, EnergyOfASharedDeviceOrASliceIsNobodysOwn) {
    TelemetryOptions shared = options_for(FAKE_NVML);
    shared.shares_device = true;
    EXPECT_EQ(record_of(shared, 510ms)[Meter::energy_j], std::nullopt);
    const TelemetryRecord slice = record_of(options_for(FAKE_NVML, "MIG-fake"), 510ms);
    EXPECT_EQ(slice[Meter::energy_j], std::nullopt);
    EXPECT_EQ(slice.samples.front()[Gauge::sm_clock_mhz], 1980) << "of the board that the slice is part of";
}

TEST(Nvml, WithoutCountersTheReasonsOfSamplesCount) {
    const test::EnvironmentVariable refuses("FAKE_NVML_REFUSES", "nvmlDeviceGetFieldValues");
    const test::EnvironmentVariable reasons("FAKE_NVML_REASONS", "0x44");  // power cap, hardware thermal slowdown
    const TelemetryRecord record = record_of(options_for(FAKE_NVML), 60ms);
    EXPECT_GT(record[Meter::observed_s].value(), 0);
    for (const Meter meter : {Meter::thermal_s, Meter::power_cap_s, Meter::hardware_slowdown_s})
        EXPECT_DOUBLE_EQ(record[meter].value(), record[Meter::observed_s].value());
}

TEST(Nvml, EachReasonOfASlowdownCountsForItsMeter) {
    const test::EnvironmentVariable refuses("FAKE_NVML_REFUSES", "nvmlDeviceGetFieldValues");
    struct Case {
        const char* mask;
        bool thermal, power_cap, hardware;
    };
    for (const auto& [mask, thermal, power_cap, hardware] : {Case{"0x01", false, false, false},
                                                             {"0x04", false, true, false},
                                                             {"0x08", false, false, true},
                                                             {"0x20", true, false, false},
                                                             {"0x40", true, false, true},
                                                             {"0x80", false, false, true}}) {
        const test::EnvironmentVariable reasons("FAKE_NVML_REASONS", mask);
        const TelemetryRecord record = record_of(options_for(FAKE_NVML));
        EXPECT_EQ(record[Meter::thermal_s].value() > 0, thermal) << mask;
        EXPECT_EQ(record[Meter::power_cap_s].value() > 0, power_cap) << mask;
        EXPECT_EQ(record[Meter::hardware_slowdown_s].value() > 0, hardware) << mask;
    }
}

TEST(Nvml, ACounterThatTheDriverDoesNotHaveIsAbsent) {
    std::string why;
    const auto device = nvml::Device::find(FAKE_NVML, "GPU-fake", "", why);
    ASSERT_TRUE(device) << why;
    EXPECT_TRUE(device->policy_s(nvml::kFieldPowerPolicy));
    EXPECT_EQ(device->policy_s(1), std::nullopt);
}

TEST(Nvml, AProcessThatWasThereAtEitherEndIsCounted) {
    const std::string own = std::to_string(::getpid());
    for (const auto& [before, after] : {std::pair{own + " 1 2", own}, {own, own + " 1 2"}}) {
        const test::EnvironmentVariable processes("FAKE_NVML_PIDS", before);
        Telemetry telemetry(options_for(FAKE_NVML));
        TelemetryWindow window(telemetry);
        processes.set(after);
        EXPECT_EQ(window.finish()[Meter::other_processes], 2) << before;
    }
}

TEST(Nvml, WhatIsRefusedIsAbsent) {
    const test::EnvironmentVariable refuses(
        "FAKE_NVML_REFUSES",
        "nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetClockInfo nvmlDeviceGetFieldValues "
        "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetUtilizationRates");
    const TelemetryRecord record = record_of(options_for(FAKE_NVML), 510ms);
    for (const Meter meter : {Meter::energy_j, Meter::thermal_s, Meter::power_cap_s, Meter::hardware_slowdown_s,
                              Meter::other_processes, Meter::cpu_energy_j})
        EXPECT_EQ(record[meter], std::nullopt) << name_of(meter);
    EXPECT_EQ(record.samples.front()[Gauge::sm_clock_mhz], std::nullopt);
    EXPECT_EQ(record.samples.front()[Gauge::utilisation_percent], std::nullopt);
    EXPECT_EQ(record.samples.front()[Gauge::temperature_c], 41);
}

TEST(Nvml, AnOldDriverAnswersWhatItCan) {
    const TelemetryRecord record = record_of(options_for(FAKE_NVML_OLD), 60ms);
    EXPECT_EQ(record.samples.front()[Gauge::temperature_c], 60);
    EXPECT_EQ(record.samples.front()[Gauge::power_w], std::nullopt);
    EXPECT_EQ(record[Meter::energy_j], std::nullopt);
    EXPECT_DOUBLE_EQ(record[Meter::thermal_s].value(), record[Meter::observed_s].value());
    EXPECT_EQ(record[Meter::hardware_slowdown_s], 0);
}

TEST(Nvml, ADeviceIsFoundByItsBusWhenItsUuidIsUnknown) {
    EXPECT_FALSE(record_of(options_for(FAKE_NVML, "GPU-other")).samples.empty());
}

TEST(Nvml, OtherProcessesAreCountedBesideThisOne) {
    const std::string own = std::to_string(::getpid());
    const std::pair<std::string, std::optional<double>> cases[] = {
        {own, 0},          {own + " 1 2", 2},
        {own + " 1 1", 1}, {"", std::nullopt},  // a container that shows none, not even this one
        {"1234", 0},       {"1234 99", 1},      // ids of another namespace: one of them is this process
    };
    for (const auto& [pids, others] : cases) {
        const test::EnvironmentVariable processes("FAKE_NVML_PIDS", pids);
        EXPECT_EQ(record_of(options_for(FAKE_NVML))[Meter::other_processes], others) << pids;
    }
    std::string many = own;
    for (int pid = 1; pid < 100; ++pid) many += " " + std::to_string(pid);
    const test::EnvironmentVariable processes("FAKE_NVML_PIDS", many);
    EXPECT_EQ(record_of(options_for(FAKE_NVML))[Meter::other_processes], 99);
}

TEST(Nvml, WithoutLibraryOrDeviceEverythingIsAbsentAndSaysWhy) {
    TelemetryOptions unknown = options_for(FAKE_NVML, "GPU-other");
    unknown.pci_bus_id = "0000:ff:00.0";
    const std::pair<TelemetryOptions, const char*> cases[] = {{options_for("libno-such-nvml.so"), "libno-such-nvml.so"},
                                                              {options_for("libc.so.6"), "no NVML"},
                                                              {unknown, "GPU-other"}};
    for (const auto& [options, why] : cases) {
        EXPECT_THAT(Telemetry(options).why_no_device(), HasSubstr(why));
        const TelemetryRecord record = record_of(options);
        EXPECT_TRUE(record.samples.empty());
        for (const auto& [meter, name] : enum_table<Meter>()) {
            const bool is_of_the_process = meter == Meter::observed_s || meter == Meter::own_cpu_s;
            EXPECT_EQ(record[meter].has_value(), is_of_the_process) << name;
        }
    }
    EXPECT_EQ(Telemetry(options_for("libno-such-nvml.so", "")).why_no_device(), "") << "a CPU rank has no device";
}

TEST(Nvml, AnNvmlThatDoesNotStartSaysSo) {
    const test::EnvironmentVariable refuses("FAKE_NVML_REFUSES", "nvmlInit_v2");
    EXPECT_THAT(Telemetry(options_for(FAKE_NVML)).why_no_device(), HasSubstr("error 3"));
}

TEST(GaugeSampler, ALongPointKeepsABoundedNumberOfSamples) {
    std::string why;
    const auto device = nvml::Device::find(FAKE_NVML, "GPU-fake", "", why);
    ASSERT_TRUE(device) << why;
    GaugeSampler sampler(*device, 1ms);
    std::this_thread::sleep_for(800ms);
    sampler.stop();
    EXPECT_LE(sampler.samples().size(), GaugeSampler::kCapacity);
    EXPECT_GT(sampler.samples().size(), 2U);
    EXPECT_GE(sampler.samples().back().at_s, 0.8) << "to the end";
    EXPECT_LT(sampler.samples().front().at_s, 0.4) << "from the beginning";
}

/// Answers with the number of the reading.
class CountingSource final : public GaugeSource {
  public:
    [[nodiscard]] std::optional<double> read(Gauge gauge) override {
        if (gauge != Gauge::sm_clock_mhz) return std::nullopt;
        return static_cast<double>(readings.fetch_add(1));
    }
    std::atomic<size_t> readings{0};
};

TEST(GaugeSampler, WhatIsThinnedOutIsEveryOtherSample) {
    CountingSource source;
    GaugeSampler sampler(source, 1ms);
    while (source.readings < GaugeSampler::kCapacity * 3 / 2) std::this_thread::sleep_for(1ms);
    sampler.stop();
    const auto number = [&](size_t i) { return sampler.samples()[i][Gauge::sm_clock_mhz].value(); };
    EXPECT_EQ(number(0), 0);
    for (size_t i = 2; i < sampler.samples().size(); ++i)
        EXPECT_LE(number(i) - number(i - 1), number(i - 1) - number(i - 2))
            << "older samples lie as far apart, or farther";
}

/// Uses the processor until `end` says so.
template <class End>
void be_busy(const End& end) {
    volatile double sum = 0;
    while (!end()) sum = sum + 1;
}

TEST(ProcessGauges, UtilisationIsCpuTimeOverTimeAndCores) {
    const double start_s = process_cpu_seconds();
    be_busy([&] { return process_cpu_seconds() > start_s + 0.2; });  // which is not of the interval
    ProcessGauges one(1), four(4);
    const double before_s = process_cpu_seconds();
    be_busy([&] { return process_cpu_seconds() > before_s + 0.05; });
    const auto of_one = one.read(Gauge::utilisation_percent);
    const auto of_four = four.read(Gauge::utilisation_percent);
    ASSERT_TRUE(of_one && of_four);
    EXPECT_GT(*of_one, 0);
    EXPECT_GT(*of_one, *of_four) << "the same work on more cores";
    EXPECT_LT(*of_one, 150) << "one thread";
    EXPECT_EQ(one.read(Gauge::power_w), std::nullopt);
    EXPECT_FALSE(one.slow_reasons());
}

TEST(ProcessGauges, OwnCpuTimeIsThatOfTheWindow) {
    const double start_s = process_cpu_seconds();
    be_busy([&] { return process_cpu_seconds() > start_s + 0.02; });
    const double before_s = process_cpu_seconds();
    const double counted_s = record_of(TelemetryOptions{})[Meter::own_cpu_s].value();
    EXPECT_LE(counted_s, process_cpu_seconds() - before_s);
}

TEST(ProcessGauges, ACpuRankIsSampledOverTime) {
    const TelemetryRecord record = record_of(TelemetryOptions{}, 120ms);
    ASSERT_GE(record.samples.size(), 2U);
    EXPECT_GT(record[Meter::observed_s].value(), 0.2);
    EXPECT_TRUE(record.samples.back()[Gauge::utilisation_percent]);
    for (const auto& sample : record.samples) {
        EXPECT_EQ(sample[Gauge::sm_clock_mhz], std::nullopt);
        EXPECT_EQ(sample[Gauge::power_w], std::nullopt);
    }
    for (const Meter meter : {Meter::energy_j, Meter::thermal_s, Meter::power_cap_s, Meter::other_processes})
        EXPECT_EQ(record[meter], std::nullopt);
}

class Powercap : public testing::Test {
  protected:
    /// Replaces the file at once, as the kernel does: a thread may read it.
    void write(const std::string& zone, const std::string& file, const std::string& text) const {
        home_.write(zone + "/written", text + '\n');
        fs::rename(folder_ / zone / "written", folder_ / zone / file);
    }
    void add_zone(const std::string& zone, const std::string& name, int64_t energy_uj) const {
        write(zone, "name", name);
        write(zone, "max_energy_range_uj", "1000000000");
        write(zone, "energy_uj", std::to_string(energy_uj));
    }

    const test::TemporaryFolder home_;
    const fs::path folder_ = home_.path();
};

TEST_F(Powercap, PackagesAreAddedUpAndCountersWrap) {
    add_zone("intel-rapl:0", "package-0", 5'000'000);
    add_zone("intel-rapl:1", "package-1", 999'000'000);
    add_zone("intel-rapl:0:0", "core", 1'000'000);
    add_zone("intel-rapl:2", "psys", 1'000'000);
    add_zone("intel-rapl-mmio:0", "package-0", 5'000'000);
    ProcessorEnergy energy(folder_);
    EXPECT_EQ(energy.joules(), 0);
    for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:2", "intel-rapl-mmio:0"})
        write(zone, "energy_uj", "7000000");
    write("intel-rapl:1", "energy_uj", "3000000");
    EXPECT_DOUBLE_EQ(energy.joules().value(), 2 + 4);
}

TEST_F(Powercap, CountersThatWrapSeveralTimesBetweenTwoReadingsAreFollowed) {
    add_zone("intel-rapl:0", "package-0", 0);
    write("intel-rapl:0", "max_energy_range_uj", "10000000");  // 10 J, which a kilowatt takes in 10 ms
    ProcessorEnergy energy(folder_);
    for (const char* counter : {"6000000", "2000000", "8000000", "4000000"}) {
        write("intel-rapl:0", "energy_uj", counter);
        const int64_t before = energy.num_readings();
        while (energy.num_readings() < before + 2) std::this_thread::sleep_for(1ms);  // the last began after the write
    }
    EXPECT_DOUBLE_EQ(energy.joules().value(), 24);
}

TEST_F(Powercap, AbsentOrForbiddenIsAbsent) {
    EXPECT_EQ(ProcessorEnergy(folder_ / "nowhere").joules(), std::nullopt);
    add_zone("intel-rapl:0", "package-0", 5'000'000);
    fs::remove(folder_ / "intel-rapl:0" / "energy_uj");
    EXPECT_EQ(ProcessorEnergy(folder_).joules(), std::nullopt);
}

TEST_F(Powercap, OfOnePackageOfTwoIsAbsentFromThenOn) {
    for (const std::string zone : {"intel-rapl:0", "intel-rapl:1"}) {
        add_zone("intel-rapl:0", "package-0", 5'000'000);
        add_zone("intel-rapl:1", "package-1", 5'000'000);
        ProcessorEnergy energy(folder_);
        EXPECT_EQ(energy.joules(), 0);
        fs::remove(folder_ / zone / "energy_uj");
        EXPECT_EQ(energy.joules(), std::nullopt) << zone;
        EXPECT_EQ(ProcessorEnergy(folder_).joules(), std::nullopt) << zone;
        add_zone(zone, "package-0", 5'000'000);
        fs::remove(folder_ / zone / "max_energy_range_uj");
        EXPECT_EQ(ProcessorEnergy(folder_).joules(), std::nullopt) << zone;
    }
}

TEST_F(Powercap, TheFirstRankOfANodeReadsIt) {
    add_zone("intel-rapl:0", "package-0", 5'000'000);
    TelemetryOptions options;
    options.powercap_folder = folder_;
    EXPECT_EQ(record_of(options)[Meter::cpu_energy_j], std::nullopt);
    options.first_on_node = true;
    Telemetry telemetry(options);
    TelemetryWindow window(telemetry);
    window.pass_begins();
    write("intel-rapl:0", "energy_uj", "8000000");
    window.pass_ends();
    write("intel-rapl:0", "energy_uj", "50000000");  // between the passes
    window.pass_begins();
    write("intel-rapl:0", "energy_uj", "51000000");
    window.pass_ends();
    const TelemetryRecord record = window.finish();
    EXPECT_TRUE(record.first_on_node);
    EXPECT_DOUBLE_EQ(record[Meter::cpu_energy_j].value(), 3 + 1);
}

/// The kernel's counters of a host with other work on it, made up.
TEST(HostLoad, IsTheGrowthOfTheKernelsCounters) {
    const test::TemporaryFolder folder;
    const auto write = [&](const std::string& file, const std::string& text) { folder.write(file, text + '\n'); };
    const double tick_s = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    write("stat", "cpu  100 10 50 900 5 1 2 30 7 0\ncpu0 100 10 50 900 5 1 2 30 7 0");
    write("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=5");
    const auto write_clock = [&](int number, const std::string& khz) {
        write("cpus/cpu" + std::to_string(number) + "/cpufreq/scaling_cur_freq", khz);
    };
    const std::vector<int> own = affinity();
    write_clock(own.front(), "3000000");
    if (own.size() > 1) write_clock(own.back(), "3000000");
    write_clock(own.back() + 1, "100000");  // where others run
    TelemetryOptions options;
    options.proc_folder = folder.path();
    options.cpu_folder = folder / "cpus";
    options.first_on_node = true;
    Telemetry telemetry(options);
    TelemetryWindow window(telemetry);
    write("stat", "cpu  400 20 90 950 6 2 3 80 7 0");
    write("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500000");
    write_clock(own.front(), "1000000");
    const TelemetryRecord record = window.finish();
    EXPECT_NEAR(record[Meter::host_cpu_s].value(), (300 + 10 + 40 + 1 + 1) * tick_s, 1e-9);
    EXPECT_NEAR(record[Meter::steal_s].value(), 50 * tick_s, 1e-9);
    EXPECT_NEAR(record[Meter::cpu_pressure_s].value(), 2.5, 1e-9);
    EXPECT_EQ(record[Meter::cpu_clock_begin_mhz], 3000);
    EXPECT_EQ(record[Meter::cpu_clock_end_mhz], own.size() > 1 && own.size() <= 4 ? 2000 : 1000) << "the mean";
    options.first_on_node = false;
    EXPECT_EQ(record_of(options)[Meter::host_cpu_s], std::nullopt) << "once a node";
    options.first_on_node = true;
    if (own.size() > 1) fs::remove_all(folder / "cpus" / ("cpu" + std::to_string(own.back())));
    EXPECT_EQ(record_of(options)[Meter::cpu_clock_end_mhz], 1000) << "of one core";
    options.proc_folder = options.cpu_folder = folder / "nowhere";
    for (const Meter meter : {Meter::host_cpu_s, Meter::steal_s, Meter::cpu_pressure_s, Meter::cpu_clock_end_mhz})
        EXPECT_EQ(record_of(options)[meter], std::nullopt);
}

TEST_F(Powercap, EnvironmentVariablesNameTheSources) {
    const test::EnvironmentVariable nvml("PATCHBENCH_NVML", "other.so");
    const test::EnvironmentVariable powercap("PATCHBENCH_POWERCAP", folder_.string());
    EXPECT_EQ(usual_telemetry_options().nvml_library, "other.so");
    EXPECT_EQ(usual_telemetry_options().powercap_folder, folder_.string());
    EXPECT_EQ(usual_telemetry_options().proc_folder, "/proc");
    const test::EnvironmentVariable proc("PATCHBENCH_PROC", folder_.string());
    EXPECT_EQ(usual_telemetry_options().proc_folder, folder_.string());
}

}  // namespace
}  // namespace pb::device
