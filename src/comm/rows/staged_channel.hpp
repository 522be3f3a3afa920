// Row transfers in chunks of a bounded size, through the buffers of a link: while one chunk travels, the next one is
// filled, or the last one is copied to its rows. Links: nccl/channel.hpp, or MPI in a test.
#pragma once

#include "comm/rows/transfer_channel.hpp"

#include <cstddef>
#include <span>

namespace pb::comm {

/// One chunk between this rank and another.
struct Chunk {
    int peer = 0;
    bool is_sent = false;  // else received
    std::span<std::byte> bytes;
};

/// Moves chunks between ranks. Has two slots of buffers; each slot holds one chunk for every lane.
class StagingLink {
  public:
    static constexpr size_t kSlots = 2;
    virtual ~StagingLink() = default;
    [[nodiscard]] virtual size_t chunk_bytes() const = 0;
    /// Host memory of a lane (the root has one for each sender, a sender one), chunk_bytes() long.
    [[nodiscard]] virtual std::span<std::byte> buffer(size_t slot, size_t lane) = 0;
    /// Starts to move `chunks`, each in a buffer of this slot. Waits only until the link has accepted them.
    virtual void begin(size_t slot, std::span<const Chunk> chunks) = 0;
    /// Waits until the chunks of the slot have moved; returns immediately when it has none.
    virtual void end(size_t slot) = 0;
};

/// Contract: TransferChannel::transfer. `receives` is true on the root only.
void transfer_staged(StagingLink& link, std::span<const RowTransfer> transfers, bool receives);

/// Bytes of a chunk when one slot holds `num_lanes` of them; smaller for many lanes, so that a slot stays bounded.
[[nodiscard]] size_t staged_chunk_bytes(size_t num_lanes);

}  // namespace pb::comm
