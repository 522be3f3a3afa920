// Figures of a StudySummary that charts are drawn from, as JSON: series over the width, rooflines, which points belong
// together, intervals and shares of each point.
#pragma once

#include "measure/study_summary.hpp"
#include "report/json_settings.hpp"

namespace pb {

/// Adds them to `line`, the study's summary.
void add_findings(const StudySummary& study, Json& line);

}  // namespace pb
