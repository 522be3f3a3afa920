// Writes values of the pipeline as JSON. Absent values, NaN, infinity and empty texts that stand for "none" become
// null.
#pragma once

#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"
#include "report/json_settings.hpp"

namespace pb::report {

[[nodiscard]] record::Json json_of(const record::Environment& environment);
/// Returns the line of a point.
[[nodiscard]] record::Json json_of(const record::PointTrace& trace, const measure::Summary& summary);
[[nodiscard]] record::Json json_of(const record::BatchSearch& search);
[[nodiscard]] record::Json json_of(const measure::Scaling& scaling);
/// Returns the line with the figures that follow from several points.
[[nodiscard]] record::Json json_of(const measure::StudySummary& study);
[[nodiscard]] record::Json json_of(const measure::Verdict& verdict);

}  // namespace pb::report
