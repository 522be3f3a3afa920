#include "comm/nccl_ranks.hpp"

#include "comm/metric_reduction.hpp"
#include "comm/nccl_check.hpp"
#include "comm/step.hpp"

#include "patchbench/device/device.hpp"

#include <exception>
#include <utility>

namespace pb::nccl {
namespace {

/// Where one rank fails as it begins a step, the others give it up one time-out later, and are not missing until then.
constexpr double kPatience = 2;

/// Rank 0's, on all ranks.
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
    : ranks_(std::move(ranks)), roll_call_(ranks_), device_(device), timeout_s_(timeout_s) {
    const ncclUniqueId id = share_unique_id(ranks_);
    together("NCCL bring-up", [&] {
        select_device(device_);
        stream_.emplace(device_);
        nccl_ = NcclCommunicator(ranks_.size(), ranks_.rank(), id, timeout_s_);
    });
}

void NcclRanks::together(const std::string& what, const std::function<void()>& step) {
    bool in_vain = false;
    auto outcome = mpi::try_step([&] {
        try {
            step();
        } catch (const TimedOut&) {
            in_vain = true;
            throw;
        }
    });
    try {
        call_roll(what, outcome);
        const bool cause_is_known = ranks_.max(outcome.error && !in_vain ? 1 : 0) > 0;
        if (in_vain && cause_is_known) outcome = {};  // a consequence: it would hide the cause
        mpi::agree_on_step(ranks_, outcome);
    } catch (const std::exception&) {
        nccl_.abort();
        throw;
    }
}

void NcclRanks::call_roll(const std::string& what, const mpi::StepOutcome& outcome) {
    try {
        roll_call_(what, kPatience * timeout_s_);
    } catch (const RanksMissing& missing) {
        throw RanksMissing(missing.what() + (outcome.error ? "; here: " + *outcome.error : ""));
    }
}

}  // namespace pb::nccl
