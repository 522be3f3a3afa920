// Values of the pipeline as JSON: absent, NaN and infinity become null, empty texts that stand for "none" too.
#pragma once

#include "measure/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"
#include "report/json_settings.hpp"

namespace pb {

[[nodiscard]] Json json_of(const Environment& environment);
/// The line of a point.
[[nodiscard]] Json json_of(const PointTrace& trace, const Summary& summary);
[[nodiscard]] Json json_of(const BatchSearch& search);
[[nodiscard]] Json json_of(const Scaling& scaling);
/// The line of what several points say together.
[[nodiscard]] Json json_of(const StudySummary& study);
[[nodiscard]] Json json_of(const Verdict& verdict);

}  // namespace pb
