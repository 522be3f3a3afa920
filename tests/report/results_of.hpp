// Turns traces into what a results file gives back.
#pragma once

#include "measure/summary.hpp"
#include "report/results/results_file.hpp"

#include <filesystem>
#include <vector>

namespace pb {

inline report::ResultsFile results_of(const std::vector<record::PointTrace>& traces,
                                      const std::filesystem::path& file = "a.jsonl") {
    report::ResultsFile results;
    results.file = file;
    results.name = "study";
    results.sessions.emplace_back();
    record::Environment& environment = results.sessions.front().environment;
    environment.started_at = "2026-01-01T00:00:00Z";
    environment.version = "0.1.0";
    environment.git_sha = "0123abcd";
    environment.compiler = "a compiler";
    environment.build_type = "Release";
    environment.libraries = {{"torch", "2.11.0", "2.11.0"}, {"mpi", "4.1", "Open MPI 4.1, package: of some kind"}};
    environment.topology = plan::make_local_topology(3);
    for (const auto& trace : traces) {
        auto& point = results.points.emplace_back();
        point.trace = trace;
        point.summary = measure::summarise(trace);
    }
    return results;
}

}  // namespace pb
