#include "comm/nccl/channel.hpp"

#include "comm/nccl/backend.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

namespace pb::comm {

// Row transfers by NCCL, staged through the GPUs of the root and of the senders. NCCL knows these ranks only.
namespace {

/// The root first, then the senders as they are numbered in `ranks`; null on other ranks.
Communicator root_and_senders(const Communicator& ranks, const std::vector<int>& senders) {
    const bool takes_part = ranks.is_root() || std::ranges::find(senders, ranks.rank()) != senders.end();
    return ranks.split(takes_part ? 0 : -1, ranks.rank());
}

class NcclChannel final : public TransferChannel {
  public:
    NcclChannel(Communicator root_and_senders, std::vector<int> senders, DeviceId device, double timeout_s)
        : senders_(std::move(senders)), ranks_(std::move(root_and_senders), device, timeout_s) {
        const size_t num_lanes = ranks_.ranks().is_root() ? senders_.size() : 1;
        ranks_.together("buffers of the exchange by NCCL",
                        [&] { link_.emplace(ranks_, num_lanes, staged_chunk_bytes(senders_.size())); });
    }

    [[nodiscard]] std::string_view name() const override { return "NCCL"; }

    void transfer(std::span<const RowTransfer> transfers) override {
        std::vector<RowTransfer> numbered(transfers.begin(), transfers.end());
        for (RowTransfer& transfer : numbered) transfer.from = number_of(transfer.from);
        ranks_.together("the exchange by NCCL", [&] {
            device::select_device(ranks_.device());
            transfer_staged(*link_, numbered, ranks_.ranks().is_root());
        });
    }

  private:
    [[nodiscard]] int number_of(int sender) const {
        const auto found = std::ranges::find(senders_, sender);
        require(found != senders_.end(), fmt::format("rank {} was not said to send output", sender));
        return static_cast<int>(found - senders_.begin()) + 1;
    }

    std::vector<int> senders_;
    nccl::NcclRanks ranks_;
    std::optional<nccl::NcclLink> link_;
};

/// On ranks that neither send nor receive.
class IdleChannel final : public TransferChannel {
  public:
    [[nodiscard]] std::string_view name() const override { return "NCCL"; }
    void transfer(std::span<const RowTransfer>) override {}
};

}  // namespace

std::unique_ptr<TransferChannel> make_nccl_channel(const Communicator& ranks, const std::vector<int>& senders,
                                                   DeviceId device, double timeout_s) {
    Communicator joined = root_and_senders(ranks, senders);
    if (joined.is_null()) return std::make_unique<IdleChannel>();
    return std::make_unique<NcclChannel>(std::move(joined), senders, device, timeout_s);
}

}  // namespace pb::comm
