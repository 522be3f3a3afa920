// Writes a results.jsonl with points of every status: what the schema is tested on. `--schema FILE` puts into a schema
// the definitions that follow from the fields of the values.
#include "measure/scaling_traces.hpp"
#include "measure/sweep_traces.hpp"
#include "measure/telemetry_trace.hpp"
#include "measure/three_rank_trace.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/results/results_file.hpp"
#include "support/results_schema.hpp"
#include "support/study_points.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace pb {
namespace {

record::Environment environment() {
    record::Environment environment;
    environment.started_at = "2026-01-01T00:00:00Z";
    environment.command_line = "patchbench run study.yaml";
    environment.version = "0.1.0";
    environment.libraries = {{"NCCL", "2.28.9", ""}};
    environment.variables = {{"OMP_NUM_THREADS", "1"}};
    environment.topology = plan::make_local_topology(kTraceRanks);
    return environment;
}

record::Profile made_up_profile() {
    return {
        .rank = 0,
        .calls = 3,
        .windows = 4,
        .forward_s = 0.5,
        .layers = {{"in_conv", "convolution 3x3, 3 to 64, relu", 1.2e9, 9e7, 0.1}, {"add 40", "add", 0, 1e7, 0.02}}};
}

std::vector<record::PointTrace> traces() {
    std::vector<record::PointTrace> all{three_rank_trace(), three_rank_trace(), watched_trace()};
    all[1].verification = {};
    all[1].quality.reset();
    all[1].binding = "2 cores shared by 3 ranks";
    all[1].batch_search = searched_point().batch_search;
    all[1].point.settings.halo = {config::HaloSetting::Kind::pixels, 20};
    all[2].profile = made_up_profile();
    all.push_back(ranks_trace(2, 5));
    all.back().point.settings.engine = EngineKind::timed;
    all.back().repeated_s = 31;
    for (const auto& [status, name] : enum_table<record::PointStatus>())
        if (status != record::PointStatus::ok) all.push_back(unmeasured_trace(status, std::string(name)));
    all.back().point.halo.reset();
    all.back().point.batch.reset();
    return all;
}

/// Whole images of three widths under a roof, of which the second takes far more memory.
std::vector<record::PointTrace> wide_points() {
    std::vector<record::PointTrace> all;
    for (const int64_t width : {1000, 1100, 1200}) {
        all.push_back(sample_point(1, 8, 3, width == 1100 ? 400 : 100));
        record::PointTrace& trace = all.back();
        trace.point.index = width;
        trace.point.settings.workload = config::Workload::whole;
        trace.point.settings.image.width = trace.point.source.extent.w = width;
        trace.prediction = plan::predict(trace.point);
        trace.ranks[0].bounds[record::Bound::matmul_tflops] = 2;
        trace.ranks[0].bounds[record::Bound::device_copy_gb_per_s] = 30;
    }
    return all;
}

/// Every kind of group: eight batches, a search, two precisions, measured and simulated ranks, three widths.
measure::StudySummary study() {
    std::vector<record::PointTrace> all{searched_point()};
    all.front().profile = made_up_profile();
    for (const int64_t batch : {1, 2, 3, 4, 5, 6, 7, 8}) all.push_back(sample_point(batch, 8, 3, 100 + 30 * batch));
    all.push_back(sample_point(8, 4, 1, 170));
    all.back().point.settings.dtype = Precision::bf16;
    for (const int num_ranks : {1, 2}) {
        all.push_back(ranks_trace(num_ranks, 10.0 / num_ranks));
        all.push_back(all.back());
        all.back().point.settings.engine = EngineKind::timed;
        all.back().repeated_s = 70;
    }
    for (auto& trace : wide_points()) all.push_back(std::move(trace));
    std::vector<measure::Summary> summaries;
    summaries.reserve(all.size());
    for (const auto& trace : all) summaries.push_back(measure::summarise(trace));
    return measure::summarise_study(measure::study_points(all, summaries), plan::make_local_topology(1));
}

/// As a run that was interrupted after its last point, and resumed.
void write(const char* file) {
    std::vector<measure::Summary> summaries;
    std::vector<record::PointTrace> all = traces();
    {
        report::JsonlWriter writer(file, {}, environment());
        for (record::PointTrace& trace : all) {
            trace.point.index = std::ssize(summaries);
            summaries.push_back(measure::summarise(trace));
            writer.write_point(trace, summaries.back());
        }
    }
    const report::ResultsFile former = report::load_results(file);
    std::vector<std::string> lines{former.sessions.front().json};
    for (const auto& point : former.points) lines.push_back(point.json);
    lines.push_back(report::resume_line(environment()));
    report::JsonlWriter writer(file, lines);
    writer.write_study_summary(study());
    writer.write_end(measure::judge(summaries, false));
}

/// JSON in which whatever fits stands on one line.
std::string laid_out(const record::Json& value, size_t indent) {
    constexpr size_t kLineWidth = 120;
    if (!value.is_structured() || value.empty()) return value.dump();
    const std::string margin(indent + 2, ' ');
    std::string line, lines;
    for (const auto& [key, item] : value.items()) {
        const std::string name = value.is_object() ? record::Json(key).dump() + ": " : "";
        line += (line.empty() ? "" : ", ") + name + laid_out(item, 0);
        lines.append(lines.empty() ? "" : ",").append("\n").append(margin).append(name);
        lines += laid_out(item, indent + 2);
    }
    const bool fits = indent + line.size() + 2 <= kLineWidth && line.find('\n') == std::string::npos;
    const char* brackets = value.is_object() ? "{}" : "[]";
    return brackets[0] + (fits ? line : lines + "\n" + std::string(indent, ' ')) + brackets[1];
}

bool update_schema(const char* file) {
    std::ifstream old(file);
    if (!old) {
        std::fprintf(stderr, "write_results: cannot read %s: name the schema, docs/results.schema.json\n", file);
        return false;
    }
    std::ostringstream text;
    text << old.rdbuf();
    record::Json schema = record::Json::parse(text.str());
    schema["$defs"].update(report::results_schema());
    old.close();
    std::ofstream(file) << laid_out(schema, 0) << "\n";
    return true;
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "";
    if (argc != (first == "--schema" ? 3 : 2)) {
        std::fputs("usage: write_results [--schema] FILE\n", stderr);
        return 2;
    }
    if (first == "--schema") return pb::update_schema(argv[2]) ? 0 : 1;
    pb::write(argv[1]);
    return 0;
}
