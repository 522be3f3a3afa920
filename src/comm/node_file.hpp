// The memory file of a node, open on all its ranks.
#pragma once

#include "comm/communicator.hpp"
#include "comm/shared_file.hpp"

namespace pb {

/// Collective over `node`: a file of `bytes` > 0 zeros, made by the node's first rank, each rank having reserved its
/// share of the pages. Throws OutOfMemory or Error on all ranks.
[[nodiscard]] SharedFile make_node_file(const Communicator& node, size_t bytes);

}  // namespace pb
