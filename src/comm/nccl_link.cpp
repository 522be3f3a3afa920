#include "comm/nccl_link.hpp"

namespace pb::comm::nccl {

NcclLink::NcclLink(NcclRanks& ranks, size_t num_lanes, size_t chunk_bytes) : ranks_(ranks), chunk_bytes_(chunk_bytes) {
    for (size_t slot = 0; slot < kSlots; ++slot)
        slots_.push_back({device::PinnedBuffer(ranks.device(), num_lanes * chunk_bytes),
                          device::DeviceBuffer(ranks.device(), num_lanes * chunk_bytes),
                          device::Event(ranks.device())});
}

std::span<std::byte> NcclLink::buffer(size_t slot, size_t lane) {
    return {slots_[slot].host.pointer() + lane * chunk_bytes_, chunk_bytes_};
}

std::byte* NcclLink::on_device(const Slot& slot, const Chunk& chunk) {
    return slot.device.pointer() + (chunk.bytes.data() - slot.host.pointer());
}

void NcclLink::begin(size_t slot_index, std::span<const Chunk> chunks) {
    Slot& slot = slots_[slot_index];
    for (const Chunk& chunk : chunks)
        if (chunk.is_sent)
            device::copy_to_device(on_device(slot, chunk), chunk.bytes.data(), chunk.bytes.size(), ranks_.stream());
    std::vector<DeviceBytes> messages;
    for (const Chunk& chunk : chunks) {
        std::byte* const place = on_device(slot, chunk);
        messages.push_back({chunk.peer, chunk.is_sent ? place : nullptr, place, chunk.bytes.size()});
    }
    ranks_.nccl().exchange(messages, ranks_.cuda_stream());
    for (const Chunk& chunk : chunks)
        if (!chunk.is_sent)
            device::copy_to_host(chunk.bytes.data(), on_device(slot, chunk), chunk.bytes.size(), ranks_.stream());
    slot.done.record(ranks_.stream());
    slot.is_moving = true;
}

void NcclLink::end(size_t slot_index) {
    Slot& slot = slots_[slot_index];
    if (!slot.is_moving) return;
    ranks_.nccl().wait_for(slot.done, "a chunk of the output by NCCL");
    slot.is_moving = false;
}

}  // namespace pb::comm::nccl
