#include "nccl_ranks.hpp"

#include "nccl_check.hpp"
#include "step.hpp"

#include "patchbench/device/device.hpp"

#include <exception>
#include <utility>

namespace pb::nccl {
namespace {

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
    const auto outcome = mpi::try_step(step);
    try {
        roll_call_(what, timeout_s_);
        mpi::agree_on_step(ranks_, outcome);
    } catch (const std::exception&) {
        nccl_.abort();
        throw;
    }
}

}  // namespace pb::nccl
