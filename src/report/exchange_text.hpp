// Tells of the points of a plan with `halo: exchanged` which rows each rank owns, what travels, and how long that
// takes.
#pragma once

#include "plan/slabs.hpp"

#include <optional>
#include <string>

namespace pb::report {

/// Returns "drunet, halo exchanged, slabs of 256 x 1024: 498.2 MiB of weights + ..", all of which are exact.
[[nodiscard]] std::string exchanged_formula_of(const plan::Point& point, double weights);

/// Some lines for each such point; empty when there is none. With `link` the seconds that the messages take, with
/// `rank_tflops`, too, how that compares with the arithmetic.
[[nodiscard]] std::string exchange_text(const plan::Plan& plan, const std::optional<plan::Link>& link,
                                        std::optional<double> rank_tflops);

}  // namespace pb::report
