// An NCCL communicator on which no call blocks, and the ranks that it joins: each step ends by a time-out, and all
// ranks learn of a failure.
#pragma once

#include "comm/collective_step.hpp"

#include "patchbench/base/device_id.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/device/stream.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>

namespace pb::comm::nccl {

/// Throws Error with NCCL's text, the last error of `communicator` (which may be null), and the place of the call,
/// unless `status` is success or, for calls that do not block, in progress.
void check(ncclResult_t status, ncclComm_t communicator = nullptr,
           std::source_location where = std::source_location::current());

/// A time-out. The cause may be an error of another rank.
class TimedOut : public Error {
  public:
    using Error::Error;
};

/// Calls `done` until it returns true; after `timeout_s` throws TimedOut, which names `what`. It spins first, because a
/// sleep takes longer than a chunk of the output, and then calls `done` about every millisecond.
void poll(const std::function<bool()>& done, const std::string& what, double timeout_s);

/// Bytes in memory of the device that go to another rank, or come from it.
struct DeviceBytes {
    int peer = 0;
    const std::byte* sent = nullptr;  // null: they are received
    std::byte* received = nullptr;
    size_t bytes = 0;
};

class NcclCommunicator {
  public:
    /// Joins the `num_ranks` ranks that have the same `id`, on the current CUDA device. Waits until all have joined.
    NcclCommunicator(int num_ranks, int rank, const ncclUniqueId& id, double timeout_s);
    /// Aborts NCCL during an exception, otherwise finalises it.
    ~NcclCommunicator();
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    /// Submits one operation or a group by `submit(native)` and waits until it is in its stream.
    void submit(const std::function<ncclResult_t(ncclComm_t)>& submit, const std::string& what);
    /// As submit(), and waits until it has run on `stream`.
    void run(const std::function<ncclResult_t(ncclComm_t)>& submit, cudaStream_t stream, const std::string& what);
    /// Submits one group of ncclSend and ncclRecv, which need not be empty, to `stream`. Peers submit their
    /// counterpart.
    void exchange(std::span<const DeviceBytes> messages, cudaStream_t stream);
    /// Waits until `event`, which was recorded after submitted operations, is reached.
    void wait_for(const device::Event& event, const std::string& what) const;
    /// Ends it without waiting for its peers.
    void abort() noexcept;

  private:
    explicit NcclCommunicator(double timeout_s) : timeout_s_(timeout_s) {}
    /// Throws Error when a submitted operation has failed.
    [[nodiscard]] bool is_idle() const;
    /// Waits until the work of the device whose state `state` queries has ended.
    void poll_device(const std::function<cudaError_t()>& state, const std::string& what) const;
    void close() noexcept;

    ncclComm_t native_ = nullptr;
    double timeout_s_;
};

class NcclRanks {
  public:
    /// Collective over `ranks`, which are also the ranks of NCCL. Contract: make_metric_reduction.
    NcclRanks(Communicator ranks, DeviceId device, double timeout_s);

    [[nodiscard]] const Communicator& ranks() const { return ranks_; }
    [[nodiscard]] NcclCommunicator& nccl() { return *nccl_; }
    [[nodiscard]] device::Stream& stream() { return *stream_; }
    [[nodiscard]] cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(stream_->native()); }
    [[nodiscard]] DeviceId device() const { return device_; }

    /// Collective: runs a step that does not end when another rank fails. `step` must have its own time-out (poll); a
    /// rank that hangs all the same is named by a barrier with time-out. When one rank failed with another error, the
    /// time-outs of the others are not reported. After a failure the state of NCCL is unknown: it is ended on all
    /// ranks.
    void together(const std::string& what, const std::function<void()>& step);

  private:
    /// The barrier after a step. The error about missing ranks also has this rank's own error.
    void require_all_ranks(const std::string& what, const mpi::StepOutcome& outcome);

    Communicator ranks_;
    mpi::BarrierWithTimeout barrier_;
    DeviceId device_;
    double timeout_s_;
    std::optional<device::Stream> stream_;
    std::optional<NcclCommunicator> nccl_;
};

}  // namespace pb::comm::nccl
