// Writes values of the pipeline as JSON. Absent values, NaN, infinity and empty texts that stand for "none" become
// null.
#pragma once

#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"
#include "report/json_settings.hpp"

namespace pb {

[[nodiscard]] Json json_of(const Environment& environment);
/// Returns the line of a point.
[[nodiscard]] Json json_of(const PointTrace& trace, const Summary& summary);
[[nodiscard]] Json json_of(const BatchSearch& search);
[[nodiscard]] Json json_of(const Scaling& scaling);
/// Returns the line with the figures that follow from several points.
[[nodiscard]] Json json_of(const StudySummary& study);
[[nodiscard]] Json json_of(const Verdict& verdict);

}  // namespace pb
