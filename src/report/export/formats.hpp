// Declares the export formats. Each one is in the file of its name.
#pragma once

#include "record/json.hpp"
#include "report/metrics.hpp"
#include "report/results/results_file.hpp"

#include <span>
#include <string>
#include <vector>

namespace pb::report {

[[nodiscard]] std::string bmf_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string chrome_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string gbench_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string github_smaller_text(std::span<const ResultsFile> files);
[[nodiscard]] std::string github_bigger_text(std::span<const ResultsFile> files);

struct Figure {
    const Metric* metric;
    double value;
};

/// Returns the headline metrics that were measured, as in the FOM lines.
[[nodiscard]] std::vector<Figure> headline_figures(const measure::Summary& summary);

/// Returns indented JSON; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const record::Json& value);

}  // namespace pb::report
