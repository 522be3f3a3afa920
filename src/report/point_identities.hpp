// Finds the same measurement in several results files, and in a plan. Pure.
#pragma once

#include "plan/plan.hpp"
#include "report/differences.hpp"
#include "report/results/results_file.hpp"

#include <set>
#include <string>
#include <vector>

namespace pb::report {

/// Names what points measure. Equal measurements have equal names, also where their files (image, weights, network)
/// were moved to another folder: a file counts by its name. Only where one plan has two files of the same name do their
/// folders count as well.
class PointIdentities {
  public:
    /// Add all plans and results files before asking for a name. Each session of a file is a plan.
    void add(const plan::Plan& plan);
    void add(const ResultsFile& file);
    [[nodiscard]] std::string of(const plan::Point& point) const;

  private:
    void add(const std::vector<const plan::Point*>& points);

    std::set<std::string> ambiguous_;  // names that stand for several files of one plan
};

/// Returns the settings that make two points different measurements: files count by their names if that makes a
/// difference.
[[nodiscard]] std::vector<Difference> work_differences(const plan::Point& here, const plan::Point& there);

}  // namespace pb::report
