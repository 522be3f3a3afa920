// What reduction of metrics, transfer of rows and border rows need from NCCL; in a build without it absent.cpp answers.
#pragma once

#include "comm/metric_reduction.hpp"
#include "comm/rows/border_channel.hpp"
#include "comm/rows/transfer_channel.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::comm {

/// Whether this build has NCCL at all.
[[nodiscard]] bool nccl_is_built_in();

/// Why this rank cannot take part in NCCL; nullopt when it can.
[[nodiscard]] std::optional<std::string> find_nccl_obstacle(DeviceId device, bool own_device);

/// Collective: UsageError on all ranks, with the reasons, when a rank cannot take part in an exchange by NCCL.
void require_nccl_for_exchange(const Communicator& ranks, DeviceId device, bool own_device);

/// Collective; every rank has a CUDA device of its own. Contract: make_metric_reduction.
[[nodiscard]] std::unique_ptr<MetricReduction> make_nccl_reduction(const Communicator& communicator, DeviceId device,
                                                                   double timeout_s);

/// Collective, with the same condition. Contract: make_transfer_channel.
[[nodiscard]] std::unique_ptr<TransferChannel> make_nccl_channel(const Communicator& ranks,
                                                                 const std::vector<int>& senders, DeviceId device,
                                                                 double timeout_s);

/// Collective, with the same condition. Contract: make_device_borders.
[[nodiscard]] std::unique_ptr<DeviceBorders> make_nccl_borders(const Communicator& ranks, DeviceId device,
                                                               double timeout_s);

}  // namespace pb::comm
