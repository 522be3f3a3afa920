// Writes the JSON of Google Benchmark. Source: its docs/user_guide.md ("Output Formats") and tools/gbench/report.py: a
// context, one entry for each repetition, then aggregates; all times in one unit. One repetition of a point is one
// iteration, and its CPU time is the sum over all ranks. All metrics are user counters of the median entry.
#include "base/mapped.hpp"
#include "base/statistics.hpp"
#include "report/export/exports.hpp"
#include "report/results/json_values.hpp"

#include <cmath>

namespace pb::report {

namespace {

constexpr double kUsPerS = 1e6;
constexpr const char* kTimeUnit = "us";

struct Times {
    double wall_s = 0, cpu_s = 0;
};

std::vector<Times> times_of(const record::PointTrace& trace) {
    std::vector<Times> all;
    for (size_t i = 0; i < trace.wall_s.size(); ++i) {
        Times times{trace.wall_s[i], 0};
        for (const auto& rank : trace.ranks) times.cpu_s += i < rank.cpu_s.size() ? rank.cpu_s[i] : 0;
        if (std::isfinite(times.wall_s) && std::isfinite(times.cpu_s)) all.push_back(times);
    }
    return all;
}

double median_cpu_s(const std::vector<Times>& times) { return median(mapped(times, &Times::cpu_s)); }

/// Makes the fields that all entries of one point share.
record::Json entry(const NamedPoint& point, size_t index, const std::string& name, const char* run_type,
                   size_t repetitions) {
    return {{"name", name},
            {"family_index", index},
            {"per_family_instance_index", 0},
            {"run_name", point.name()},
            {"run_type", run_type},
            {"repetitions", repetitions},
            {"threads", point.trace().point.num_ranks}};
}

void add_times(const Times& times, size_t iterations, record::Json& json) {
    json["iterations"] = iterations;
    json["real_time"] = times.wall_s * kUsPerS;
    json["cpu_time"] = times.cpu_s * kUsPerS;
    json["time_unit"] = kTimeUnit;
}

record::Json repetition(const NamedPoint& point, size_t index, const std::vector<Times>& times, size_t i) {
    record::Json all = entry(point, index, point.name(), "iteration", times.size());
    all["repetition_index"] = i;
    add_times(times[i], 1, all);
    return all;
}

record::Json median_entry(const NamedPoint& point, size_t index, const std::vector<Times>& times) {
    const measure::Summary& summary = point.summary();
    record::Json all = entry(point, index, point.name() + "_median", "aggregate", times.size());
    all["aggregate_name"] = "median";
    all["aggregate_unit"] = "time";
    add_times({*summary.pipeline_s, median_cpu_s(times)}, times.size(), all);
    for (const auto& metric : metrics())
        if (const auto value = metric.value(summary); value && std::isfinite(*value) && !all.contains(metric.key))
            all[metric.key] = *value;
    return all;
}

/// Returns the number of CPUs in use: the threads of all ranks.
int64_t num_threads(const plan::Topology& topology) {
    int64_t threads = 0;
    for (const auto& place : topology.ranks) threads += place.threads;
    return threads;
}

record::Json context(std::span<const ResultsFile> files) {
    const record::Environment& environment = files.front().environment();
    const auto& ranks = environment.topology.ranks;
    record::Json left_out = record::Json::array();
    for (const auto& point : tracked_points(files))
        if (!is_valid(point)) left_out.push_back(point.name());
    return {{"date", environment.started_at},
            {"host_name", ranks.empty() ? "" : ranks.front().host},
            {"executable", "patchbench"},
            {"num_cpus", num_threads(environment.topology)},
            {"caches", record::Json::array()},
            {"library_build_type", environment.build_type == "Debug" ? "debug" : "release"},
            {"patchbench_version", environment.version},
            {"git_sha", environment.git_sha},
            {"left_out", left_out}};
}

}  // namespace

std::string gbench_text(std::span<const ResultsFile> files) {
    record::Json benchmarks = record::Json::array();
    const auto points = valid_points(files);
    for (size_t index = 0; index < points.size(); ++index) {
        const auto times = times_of(points[index].trace());
        if (times.empty()) continue;
        for (size_t i = 0; i < times.size(); ++i) benchmarks.push_back(repetition(points[index], index, times, i));
        benchmarks.push_back(median_entry(points[index], index, times));
    }
    return json_text(record::Json{{"context", context(files)}, {"benchmarks", benchmarks}});
}

}  // namespace pb::report
