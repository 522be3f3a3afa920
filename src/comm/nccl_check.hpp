// NCCL's status codes as errors.
#pragma once

#include <nccl.h>

#include <source_location>

namespace pb::nccl {

/// Throws Error with NCCL's text, the last error of `communicator` (which may be null), and the place of the call,
/// unless `status` is success or, for calls that do not block, in progress.
void check(ncclResult_t status, ncclComm_t communicator = nullptr,
           std::source_location where = std::source_location::current());

}  // namespace pb::nccl
