// The names of the files that a study writes: outputs and previews of its points.
#pragma once

#include "plan/plan.hpp"
#include "run/runner.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace pb::app {

/// Where a study writes, for output_names.
struct StudyOutput {
    std::filesystem::path folder;
    bool save_images = true;
    std::vector<std::string> kept_files;  // names of files that no point may replace (StudyRecord)
};

/// Names files after the point's index and label; where a finished point keeps one of them, with "-2", "-3", ..
[[nodiscard]] run::OutputNames output_names(const StudyOutput& output);

/// Throws UsageError where a file that the plan writes is one of `inputs`.
void require_no_input_is_replaced(const plan::Plan& plan, const run::OutputNames& names,
                                  const std::set<std::filesystem::path>& inputs);

}  // namespace pb::app
