// Bytes of any size through MPI's int counts: cut into messages or rounds of at most `limit` bytes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pb::mpi {

/// Largest message, and largest total of a round of a gather. Far below 2^31, where int counts end; large enough that
/// the cut costs nothing.
constexpr int64_t kMessageLimit = int64_t{1} << 28;

/// Collective.
void broadcast_bytes(std::span<std::byte> bytes, int root, MPI_Comm communicator, int64_t limit = kMessageLimit);

/// Both ends name the same number of bytes; anything else that arrives is an Error.
void send_bytes(std::span<const std::byte> bytes, int to, int tag, MPI_Comm communicator,
                int64_t limit = kMessageLimit);
void receive_bytes(std::span<std::byte> bytes, int from, int tag, MPI_Comm communicator, int64_t limit = kMessageLimit);

using RowsOfBytes = std::vector<std::vector<std::byte>>;

/// Collective: what each rank gave, in rank order, on `root` (nothing elsewhere) or, without a root, on all ranks.
[[nodiscard]] RowsOfBytes gather_bytes(std::span<const std::byte> mine, std::optional<int> root, MPI_Comm communicator,
                                       int64_t limit = kMessageLimit);

}  // namespace pb::mpi
