// Results as text: the terminal table, per-rank table, FOM and verdict lines, results.jsonl and results.csv.
#pragma once

#include "patchbench/config/settings.hpp"
#include "patchbench/measure/summary.hpp"
#include "patchbench/run/trace.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

/// One row a point, headline metrics as columns, notes below.
[[nodiscard]] std::string points_table(const std::vector<Summary>& summaries);

/// One row a rank of one point: host, device, patches, patches/s, wall time, memory four ways; says whether NCCL or MPI
/// gathered it.
[[nodiscard]] std::string ranks_table(const PointTrace& trace, const Summary& summary, const Topology& topology);

/// The points of a plan: label, tiles, batches, patches per rank, processed/useful, predicted memory and FLOP.
[[nodiscard]] std::string plan_table(const Plan& plan);

/// Lines "FOM <label>.<metric> <value> <unit>" of every headline metric of every point.
[[nodiscard]] std::string fom_lines(const std::vector<Summary>& summaries);

/// "RESULT: VALID|INVALID|FAILED  <reasons>".
[[nodiscard]] std::string verdict_line(const Verdict& verdict);

/// results.jsonl: a line for the study, one a point, one at the end. Each line is flushed and synced before the call
/// returns: a killed run keeps its finished points. Throws Error (full disk, ...) naming the file.
class JsonlWriter {
  public:
    JsonlWriter(const std::filesystem::path& file, const StudySettings& study, const Environment& environment);
    ~JsonlWriter();
    JsonlWriter(const JsonlWriter&) = delete;
    JsonlWriter& operator=(const JsonlWriter&) = delete;
    void write_point(const PointTrace& trace, const Summary& summary);
    void write_end(const Verdict& verdict);

  private:
    void write_line(const std::string& line);
    std::filesystem::path file_;
    int descriptor_ = -1;
};

/// Tidy CSV: one row a point, all settings and all metrics, units in the column names. Complete or not there at all.
void write_csv(const std::vector<PointTrace>& traces, const std::vector<Summary>& summaries,
               const std::filesystem::path& file);

}  // namespace pb
