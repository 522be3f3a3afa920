// Shipments in chunks of a bounded size, through buffers that belong to whatever moves them: while one chunk travels
// the next is filled, or the last one written to its place. What moves them is another file: NCCL, or MPI in a test.
#pragma once

#include "comm/transfer_channel.hpp"

#include <cstddef>
#include <span>

namespace pb {

/// One chunk between this rank and another.
struct Chunk {
    int peer = 0;
    bool is_sent = false;  // else received
    std::span<std::byte> bytes;
};

/// Two slots of buffers; each holds a chunk for every lane.
class StagingLink {
  public:
    static constexpr size_t kSlots = 2;
    virtual ~StagingLink() = default;
    [[nodiscard]] virtual size_t chunk_bytes() const = 0;
    /// Host memory of a lane (the root has one for each sender, a sender one), chunk_bytes() long.
    [[nodiscard]] virtual std::span<std::byte> buffer(size_t slot, size_t lane) = 0;
    /// Begins to move chunks, each in a buffer of this slot, all at once. Waits for nothing but the link itself.
    virtual void begin(size_t slot, std::span<const Chunk> chunks) = 0;
    /// Waits until what the slot began is done; returns at once when it began nothing.
    virtual void end(size_t slot) = 0;
};

/// Contract: TransferChannel::carry. `receives` on the root alone.
void carry_staged(StagingLink& link, std::span<const RowTransfer> transfers, bool receives);

/// Bytes of a chunk where one slot must hold one for each of `num_lanes`: the largest that is worth it, or less.
[[nodiscard]] size_t staged_chunk_bytes(size_t num_lanes);

}  // namespace pb
