// What metric_reduction.cpp and slab_carrier.cpp need of NCCL: nccl_reduction.cpp and nccl_carrier.cpp, or
// nccl_absent.cpp in a build without it.
#pragma once

#include "patchbench/comm/metric_reduction.hpp"
#include "patchbench/comm/slab_carrier.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Whether this build has NCCL at all.
[[nodiscard]] bool nccl_is_built_in();

/// Why this rank cannot take part in NCCL; nothing when it can.
[[nodiscard]] std::optional<std::string> find_nccl_obstacle(DeviceId device, bool own_device);

/// Collective; every rank has a CUDA device of its own. Contract: make_metric_reduction.
[[nodiscard]] std::unique_ptr<MetricReduction> make_nccl_reduction(const Communicator& communicator, DeviceId device,
                                                                   double timeout_s);

/// Collective, as that. Contract: make_slab_carrier.
[[nodiscard]] std::unique_ptr<SlabCarrier> make_nccl_carrier(const Communicator& ranks, const std::vector<int>& senders,
                                                             DeviceId device, double timeout_s);

}  // namespace pb
