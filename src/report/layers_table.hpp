// Writes where the time of a forward call goes, layer by layer.
#pragma once

#include "measure/layer_shares.hpp"
#include "report/text_table.hpp"

#include <cstddef>
#include <string>

namespace pb::report {

/// Writes one row for each of the slowest layers, largest first, one for all smaller layers, and one for the rest of
/// the call ("other").
[[nodiscard]] std::string layers_table(const measure::PointProfile& profile, size_t width = kAnyWidth);

}  // namespace pb::report
