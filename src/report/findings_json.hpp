// Writes the figures of a StudySummary that charts are drawn from, as JSON: series over the width, rooflines, groups of
// points, and the intervals and shares of each point.
#pragma once

#include "measure/study_summary.hpp"
#include "report/json_settings.hpp"

namespace pb::report {

/// Adds the figures to `line`, the JSON line of the study's summary.
void add_findings(const measure::StudySummary& study, record::Json& line);

}  // namespace pb::report
