#include "comm/mpi_calls.hpp"

#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace pb::comm::mpi {
namespace {

/// Calls `each(part)` for consecutive parts of at most `limit` bytes.
template <class Byte, class Function>
void for_parts(std::span<Byte> bytes, int64_t limit, Function&& each) {
    const auto step = static_cast<size_t>(limit);
    for (size_t begin = 0; begin < bytes.size(); begin += step)
        each(bytes.subspan(begin, std::min(step, bytes.size() - begin)));
}

/// One round of a gather: the bytes [begin, begin + share) of each rank, as far as it has them.
struct Round {
    std::vector<int> counts;
    std::vector<int> offsets;
    std::vector<std::byte> received;  // on the ranks that receive

    Round(const std::vector<int64_t>& totals, int64_t begin, int64_t share) {
        int offset = 0;
        for (const int64_t total : totals) {
            counts.push_back(static_cast<int>(std::clamp<int64_t>(total - begin, 0, share)));
            offsets.push_back(offset);
            offset += counts.back();
        }
    }
    [[nodiscard]] size_t bytes() const {
        return static_cast<size_t>(offsets.back()) + static_cast<size_t>(counts.back());
    }
};

void exchange(std::span<const std::byte> part, std::optional<int> root, MPI_Comm communicator, Round& round) {
    const int count = static_cast<int>(part.size());
    if (root)
        check(MPI_Gatherv(part.data(), count, MPI_BYTE, round.received.data(), round.counts.data(),
                          round.offsets.data(), MPI_BYTE, *root, communicator));
    else
        check(MPI_Allgatherv(part.data(), count, MPI_BYTE, round.received.data(), round.counts.data(),
                             round.offsets.data(), MPI_BYTE, communicator));
}

}  // namespace

void check(int status, std::source_location where) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw Error(
        fmt::format("MPI: {}, at {}", std::string_view(text.data(), static_cast<size_t>(length)), place_text(where)));
}

bool is_running() {
    int initialised = 0;
    int finalised = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalised);
    return initialised != 0 && finalised == 0;
}

void broadcast_bytes(std::span<std::byte> bytes, int root, const Communicator& communicator, int64_t limit) {
    const MPI_Comm handle = native(communicator);  // refuses a null one, also where there are no bytes
    for_parts(bytes, limit, [&](std::span<std::byte> part) {
        check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, handle));
    });
}

void send_bytes(std::span<const std::byte> bytes, int to, int tag, const Communicator& communicator, int64_t limit) {
    const MPI_Comm handle = native(communicator);  // refuses a null one
    for_parts(bytes, limit, [&](std::span<const std::byte> part) {
        check(MPI_Send(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, tag, handle));
    });
}

void receive_bytes(std::span<std::byte> bytes, int from, int tag, const Communicator& communicator, int64_t limit) {
    const MPI_Comm handle = native(communicator);  // refuses a null one
    for_parts(bytes, limit, [&](std::span<std::byte> part) {
        MPI_Status status;
        check(MPI_Recv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, tag, handle, &status));
        int received = 0;
        check(MPI_Get_count(&status, MPI_BYTE, &received));
        require(static_cast<size_t>(received) == part.size(),
                fmt::format("rank {} sent {} bytes where {} were expected: both ends must name the same size", from,
                            received, part.size()));
    });
}

RowsOfBytes gather_bytes(std::span<const std::byte> mine, std::optional<int> root, const Communicator& communicator,
                         int64_t limit) {
    const int num_ranks = communicator.size();
    const auto own_total = static_cast<int64_t>(mine.size());
    std::vector<int64_t> totals(static_cast<size_t>(num_ranks));
    check(MPI_Allgather(&own_total, 1, MPI_INT64_T, totals.data(), 1, MPI_INT64_T, native(communicator)));

    const bool receives = !root || *root == communicator.rank();
    RowsOfBytes rows(receives ? totals.size() : 0);
    for (size_t rank = 0; rank < rows.size(); ++rank) rows[rank].reserve(static_cast<size_t>(totals[rank]));
    const int64_t longest = *std::ranges::max_element(totals);
    const int64_t share = std::max<int64_t>(1, limit / num_ranks);
    for (int64_t begin = 0; begin < longest; begin += share) {
        Round round(totals, begin, share);
        if (receives) round.received.resize(round.bytes());
        const int64_t own_begin = std::min(begin, own_total);
        const int64_t own_bytes = std::clamp<int64_t>(own_total - begin, 0, share);
        exchange(mine.subspan(static_cast<size_t>(own_begin), static_cast<size_t>(own_bytes)), root,
                 native(communicator), round);
        for (size_t rank = 0; rank < rows.size(); ++rank) {
            const auto first = round.received.begin() + round.offsets[rank];
            rows[rank].insert(rows[rank].end(), first, first + round.counts[rank]);
        }
    }
    return rows;
}

}  // namespace pb::comm::mpi
