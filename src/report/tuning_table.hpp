// Writes what a search for the fastest way to denoise an image tried, and why each candidate is out.
#pragma once

#include "measure/tuning.hpp"
#include "report/text_table.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace pb::report {

/// One row for each candidate: the chosen one, then those that came furthest, the fastest first. The peak of the whole
/// image is predicted, that of the crop measured. `image`: of the whole image.
[[nodiscard]] std::string tuning_table(const measure::TuningTrials& trials, std::optional<size_t> chosen, Extent image,
                                       size_t width = kAnyWidth);

}  // namespace pb::report
