// Bytes between processes of the job, by MPI_COMM_WORLD: patchbench's own messages go by copies of it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace fake {

using Bytes = std::vector<std::byte>;

[[nodiscard]] int world_rank();

/// Does not wait. Messages of one tag arrive in order.
void send(int to, int tag, Bytes bytes);

/// The next message of that tag; nothing when none has come yet. `from` may be MPI_ANY_SOURCE.
[[nodiscard]] std::optional<Bytes> receive(int from, int tag);

}  // namespace fake
