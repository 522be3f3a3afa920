// MPI calls as this layer makes them: return codes as errors (all communicators have MPI_ERRORS_RETURN, and every call
// goes through check), and bytes of any size through MPI's int counts, cut into messages or rounds of at most `limit`
// bytes.
#pragma once

#include "comm/communicator.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace pb::comm::mpi {

/// Throws Error with MPI's text and the place of the call unless `status` is MPI_SUCCESS.
void check(int status, std::source_location where = std::source_location::current());

[[nodiscard]] inline MPI_Comm native(const Communicator& communicator) {
    return *static_cast<const MPI_Comm*>(communicator.native());
}

/// Between MPI_Init and MPI_Finalize.
[[nodiscard]] bool is_running();

/// Bytes of the largest message, and of a round of a gather. Far below 2^31, where int counts end; large enough that
/// the extra messages cost nothing.
constexpr int64_t kMessageLimit = int64_t{1} << 28;

/// Collective.
void broadcast_bytes(std::span<std::byte> bytes, int root, const Communicator& communicator,
                     int64_t limit = kMessageLimit);

/// Both ends must name the same number of bytes; receiving another number is an Error.
void send_bytes(std::span<const std::byte> bytes, int to, int tag, const Communicator& communicator,
                int64_t limit = kMessageLimit);
void receive_bytes(std::span<std::byte> bytes, int from, int tag, const Communicator& communicator,
                   int64_t limit = kMessageLimit);

using RowsOfBytes = std::vector<std::vector<std::byte>>;

/// Collective: the bytes of each rank in rank order, on `root` (empty elsewhere) or, without a root, on all ranks.
[[nodiscard]] RowsOfBytes gather_bytes(std::span<const std::byte> mine, std::optional<int> root,
                                       const Communicator& communicator, int64_t limit = kMessageLimit);

}  // namespace pb::comm::mpi
