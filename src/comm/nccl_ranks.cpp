#include "comm/nccl_ranks.hpp"

#include "comm/metric_reduction.hpp"

#include "patchbench/device/device.hpp"

#include <exception>
#include <utility>

namespace pb::comm::nccl {
namespace {

/// The barrier after a step waits two time-outs: when one rank fails at the start of a step, the others end it one
/// time-out later and only then reach the barrier.
constexpr double kBarrierTimeouts = 2;

/// Makes an id on rank 0 and gives it to all ranks.
ncclUniqueId share_unique_id(const Communicator& ranks) {
    ncclUniqueId id{};
    mpi::step_together(ranks, [&] {
        if (ranks.is_root()) check(ncclGetUniqueId(&id));
    });
    ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    return id;
}

}  // namespace

NcclRanks::NcclRanks(Communicator ranks, DeviceId device, double timeout_s)
    : ranks_(std::move(ranks)), barrier_(ranks_), device_(device), timeout_s_(timeout_s) {
    const ncclUniqueId id = share_unique_id(ranks_);
    together("NCCL bring-up", [&] {
        device::select_device(device_);
        stream_.emplace(device_);
        nccl_ = NcclCommunicator(ranks_.size(), ranks_.rank(), id, timeout_s_);
    });
}

void NcclRanks::together(const std::string& what, const std::function<void()>& step) {
    bool timed_out = false;
    auto outcome = mpi::try_step([&] {
        try {
            step();
        } catch (const TimedOut&) {
            timed_out = true;
            throw;
        }
    });
    try {
        require_all_ranks(what, outcome);
        const bool cause_is_known = ranks_.max(outcome.error && !timed_out ? 1 : 0) > 0;
        if (timed_out && cause_is_known) outcome = {};  // a consequence: it would hide the cause
        mpi::agree_on_step(ranks_, outcome);
    } catch (const std::exception&) {
        nccl_.abort();
        throw;
    }
}

void NcclRanks::require_all_ranks(const std::string& what, const mpi::StepOutcome& outcome) {
    try {
        barrier_(what, kBarrierTimeouts * timeout_s_);
    } catch (const RanksMissing& missing) {
        throw RanksMissing(missing.what() + (outcome.error ? "; here: " + *outcome.error : ""));
    }
}

}  // namespace pb::comm::nccl
