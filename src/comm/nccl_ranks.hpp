// Ranks with one CUDA device each, joined by NCCL. Every step ends by a time-out, and all ranks learn of a failure.
#pragma once

#include "comm/barrier_with_timeout.hpp"
#include "comm/collective_step.hpp"
#include "comm/nccl_communicator.hpp"

#include "patchbench/base/device_id.hpp"
#include "patchbench/device/stream.hpp"

#include <functional>
#include <optional>
#include <string>

namespace pb::comm::nccl {

class NcclRanks {
  public:
    /// Collective over `ranks`, which are also the ranks of NCCL. Contract: make_metric_reduction.
    NcclRanks(Communicator ranks, DeviceId device, double timeout_s);

    [[nodiscard]] const Communicator& ranks() const { return ranks_; }
    [[nodiscard]] NcclCommunicator& nccl() { return nccl_; }
    [[nodiscard]] device::Stream& stream() { return *stream_; }
    [[nodiscard]] cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(stream_->native()); }
    [[nodiscard]] DeviceId device() const { return device_; }
    [[nodiscard]] double timeout_s() const { return timeout_s_; }

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
    NcclCommunicator nccl_;
};

}  // namespace pb::comm::nccl
