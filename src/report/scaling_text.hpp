// Writes speed-up, efficiency, parts of the time and costs over ranks, for the terminal.
#pragma once

#include "measure/scaling.hpp"

#include <string>

namespace pb::report {

[[nodiscard]] std::string scaling_text(const measure::Scaling& scaling);

}  // namespace pb::report
