// Output on its way between nodes: every rank that does not share the root's memory sends the rectangles that its
// windows cover.
#pragma once

#include "run/point/rank_share.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pb::run {

/// Copies the output of other nodes in the last pass to the root's slab. Returns the number of bytes that this rank
/// sent or received. Collective over the team. Does nothing on a single node.
std::optional<int64_t> exchange(const plan::Point& point, const Team& team, const RankShare& share);

/// Compares what the root holds of the windows of other nodes with what these hold, by their checksums. Returns which
/// ranks' windows differ, the same text on all ranks. Collective over the team.
[[nodiscard]] std::optional<std::string> find_lost_rows(const plan::Point& point, const Team& team,
                                                        const RankShare& share);

}  // namespace pb::run
