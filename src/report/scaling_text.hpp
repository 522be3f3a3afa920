// Writes speed-up, efficiency, parts of the time and costs over ranks, for the terminal.
#pragma once

#include "measure/scaling.hpp"

#include <string>

namespace pb {

[[nodiscard]] std::string scaling_text(const Scaling& scaling);

}  // namespace pb
