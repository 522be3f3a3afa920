// Ranks with a CUDA device each, joined by NCCL: steps that end, failures that all of them learn of.
#pragma once

#include "comm/barrier_with_timeout.hpp"
#include "comm/nccl_communicator.hpp"
#include "comm/step.hpp"

#include "patchbench/base/device_id.hpp"
#include "patchbench/device/stream.hpp"

#include <functional>
#include <optional>
#include <string>

namespace pb::nccl {

class NcclRanks {
  public:
    /// Collective over `ranks`, who are what NCCL numbers. Contract: make_metric_reduction.
    NcclRanks(Communicator ranks, DeviceId device, double timeout_s);

    [[nodiscard]] const Communicator& ranks() const { return ranks_; }
    [[nodiscard]] NcclCommunicator& nccl() { return nccl_; }
    [[nodiscard]] Stream& stream() { return *stream_; }
    [[nodiscard]] cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(stream_->native()); }
    [[nodiscard]] DeviceId device() const { return device_; }
    [[nodiscard]] double timeout_s() const { return timeout_s_; }

    /// Collective: a step that another rank's failure keeps from ending. It ends by its own time-out, and a rank that
    /// hangs even then is named by the roll call. Where a rank met an error, those that waited in vain say nothing of
    /// that. After a failure NCCL is in no known state: it is ended on all ranks.
    void together(const std::string& what, const std::function<void()>& step);

  private:
    /// The roll call of a step; an error of this rank's own is said with who is missing.
    void call_roll(const std::string& what, const mpi::StepOutcome& outcome);

    Communicator ranks_;
    mpi::BarrierWithTimeout roll_call_;
    DeviceId device_;
    double timeout_s_;
    std::optional<Stream> stream_;
    NcclCommunicator nccl_;
};

}  // namespace pb::nccl
