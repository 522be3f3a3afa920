// Chunks from GPU to GPU by grouped ncclSend and ncclRecv, through page-locked host memory and memory of the device.
#pragma once

#include "comm/nccl/communicator.hpp"
#include "comm/rows/staged_channel.hpp"

#include "patchbench/device/stream.hpp"

#include <vector>

namespace pb::comm::nccl {

class NcclLink final : public StagingLink {
  public:
    /// Makes `num_lanes` buffers of `chunk_bytes` in each slot, on the host and on the device. `ranks` must outlive it;
    /// peers are rank numbers in it. Not collective, but begin() returns only when the peers begin, too.
    NcclLink(NcclRanks& ranks, size_t num_lanes, size_t chunk_bytes);

    [[nodiscard]] size_t chunk_bytes() const override { return chunk_bytes_; }
    [[nodiscard]] std::span<std::byte> buffer(size_t slot, size_t lane) override;
    void begin(size_t slot, std::span<const Chunk> chunks) override;
    void end(size_t slot) override;

  private:
    struct Slot {
        device::PinnedBuffer host;
        device::DeviceBuffer device;
        device::Event done;
        bool is_moving = false;
    };
    /// The device's copy of a chunk in `slot`.
    [[nodiscard]] static std::byte* on_device(const Slot& slot, const Chunk& chunk);

    NcclRanks& ranks_;
    size_t chunk_bytes_;
    std::vector<Slot> slots_;
};

}  // namespace pb::comm::nccl
