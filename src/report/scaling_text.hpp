// Writes speed-up, efficiency, parts of the time and costs over ranks, for the terminal. Tables fit `width`
// characters.
#pragma once

#include "measure/scaling.hpp"

#include <cstddef>
#include <string>

namespace pb::report {

[[nodiscard]] std::string scaling_text(const measure::Scaling& scaling, size_t width);

}  // namespace pb::report
