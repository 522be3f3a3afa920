#include "comm/transfer_channel.hpp"

#include "comm/mpi_channel.hpp"
#include "comm/nccl_backend.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

std::unique_ptr<TransferChannel> make_transfer_channel(const Communicator& ranks, const std::vector<int>& senders,
                                                       ExchangeKind kind, DeviceId device, bool own_device,
                                                       double timeout_s) {
    if (kind != ExchangeKind::nccl) return make_mpi_channel(ranks);
    if (const auto obstacle = ranks.agree(find_nccl_obstacle(device, own_device)))
        throw UsageError("exchange: nccl is not possible\n" + *obstacle);
    return make_nccl_channel(ranks, senders, device, timeout_s);
}

}  // namespace pb
