// An NCCL communicator whose every step ends: calls do not block, their completion is polled up to a time-out.
#pragma once

#include "patchbench/base/error.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>
#include <string>

namespace pb::nccl {

/// Waited in vain: the cause may lie with another rank, which knows more.
class TimedOut : public Error {
  public:
    using Error::Error;
};

/// Calls `done` until it returns true; throws TimedOut that names `what` after `timeout_s`. It spins first, because a
/// sleep costs more than a chunk of the output takes, and then calls about every millisecond.
void poll(const std::function<bool()>& done, const std::string& what, double timeout_s);

class NcclCommunicator {
  public:
    NcclCommunicator() = default;
    /// Joins `num_ranks` ranks that hold the same `id` on the current CUDA device. Blocks until all have joined.
    NcclCommunicator(int num_ranks, int rank, const ncclUniqueId& id, double timeout_s);
    /// Ends what was abandoned by an exception by force, everything else in order.
    ~NcclCommunicator();
    NcclCommunicator(NcclCommunicator&& other) noexcept;
    NcclCommunicator& operator=(NcclCommunicator&& other) noexcept;

    /// Submits one operation by `submit(native)`, or a group, and waits until it is in its stream.
    void submit(const std::function<ncclResult_t(ncclComm_t)>& submit, const std::string& what);
    /// As submit(), and waits until it has run on `stream`.
    void run(const std::function<ncclResult_t(ncclComm_t)>& submit, cudaStream_t stream, const std::string& what);
    /// Throws Error when something that was submitted has failed since.
    void check_health() const { (void)is_idle(); }
    /// Ends it by force: its peers may be gone.
    void abort() noexcept;

  private:
    [[nodiscard]] bool is_idle() const;
    void close() noexcept;

    ncclComm_t native_ = nullptr;
    double timeout_s_ = 0;
};

}  // namespace pb::nccl
