#include "comm/border_channel.hpp"

#include "comm/nccl_backend.hpp"

namespace pb::comm {

std::unique_ptr<DeviceBorders> make_device_borders(const Communicator& ranks, ExchangeKind kind, DeviceId device,
                                                   bool own_device, double timeout_s) {
    if (kind != ExchangeKind::nccl) return nullptr;
    require_nccl_for_exchange(ranks, device, own_device);
    return make_nccl_borders(ranks, device, timeout_s);
}

}  // namespace pb::comm
