// What metric_reduction.cpp needs of NCCL: nccl_reduction.cpp, or nccl_absent.cpp in a build without it.
#pragma once

#include "patchbench/comm/metric_reduction.hpp"

#include <memory>

namespace pb {

/// Whether this build has NCCL at all.
[[nodiscard]] bool nccl_is_built_in();

/// Collective; every rank has a CUDA device of its own. Contract: make_metric_reduction.
[[nodiscard]] std::unique_ptr<MetricReduction> make_nccl_reduction(const Communicator& communicator, DeviceId device,
                                                                   double timeout_s);

}  // namespace pb
