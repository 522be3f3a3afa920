#include "patchbench/comm/slab_carrier.hpp"

#include "mpi_carrier.hpp"
#include "nccl_backend.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

std::unique_ptr<SlabCarrier> make_slab_carrier(const Communicator& ranks, const std::vector<int>& senders,
                                               ExchangeKind kind, DeviceId device, bool own_device, double timeout_s) {
    if (kind != ExchangeKind::nccl) return make_mpi_carrier(ranks);
    if (const auto obstacle = ranks.agree(find_nccl_obstacle(device, own_device)))
        throw UsageError("exchange: nccl is not possible\n" + *obstacle);
    return make_nccl_carrier(ranks, senders, device, timeout_s);
}

}  // namespace pb
