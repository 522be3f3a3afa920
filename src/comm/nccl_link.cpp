#include "comm/nccl_link.hpp"

#include "device/cuda_check.hpp"

#include <cuda_runtime_api.h>

namespace pb::comm::nccl {
namespace {

bool has_failed(ncclResult_t status) { return status != ncclSuccess && status != ncclInProgress; }

}  // namespace

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
    const auto send_and_receive = [&](ncclComm_t native) {
        ncclResult_t status = ncclGroupStart();
        for (const Chunk& chunk : chunks) {
            if (has_failed(status)) break;
            status = chunk.is_sent ? ncclSend(on_device(slot, chunk), chunk.bytes.size(), ncclUint8, chunk.peer, native,
                                              ranks_.cuda_stream())
                                   : ncclRecv(on_device(slot, chunk), chunk.bytes.size(), ncclUint8, chunk.peer, native,
                                              ranks_.cuda_stream());
        }
        const ncclResult_t ended = ncclGroupEnd();
        return has_failed(status) ? status : ended;
    };
    ranks_.nccl().submit(send_and_receive, "ncclSend and ncclRecv");
    for (const Chunk& chunk : chunks)
        if (!chunk.is_sent)
            device::copy_to_host(chunk.bytes.data(), on_device(slot, chunk), chunk.bytes.size(), ranks_.stream());
    slot.done.record(ranks_.stream());
    slot.is_moving = true;
}

void NcclLink::end(size_t slot_index) {
    Slot& slot = slots_[slot_index];
    if (!slot.is_moving) return;
    const auto has_moved = [&] {
        ranks_.nccl().check_health();
        const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(slot.done.native()));
        if (state == cudaErrorNotReady) return false;
        pb::device::check(state);
        return true;
    };
    poll(has_moved, "a chunk of the output by NCCL", ranks_.timeout_s());
    slot.is_moving = false;
}

}  // namespace pb::comm::nccl
