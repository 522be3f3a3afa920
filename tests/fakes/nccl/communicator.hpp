// A communicator of the fake NCCL: who its ranks are, and how far its last call has come.
#pragma once

#include "messages.hpp"

#include <nccl.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct ncclComm {
    int rank = 0;
    std::vector<int> world;  // by rank: its number in MPI_COMM_WORLD
    int tag = 0;             // of its messages
    ncclResult_t state = ncclSuccess;
    std::string last_error;
    int patience = 0;            // looks until `rest` is tried
    std::function<bool()> rest;  // of the call in progress: true when it is done
    bool is_finalised = false;
    bool is_aborted = false;

    [[nodiscard]] int size() const { return static_cast<int>(world.size()); }
    ncclResult_t fail(ncclResult_t status, std::string text) {
        last_error = std::move(text);
        return state = status;
    }
};

namespace fake {

using Shared = std::shared_ptr<ncclComm>;

/// The communicator behind a handle; null when there is none, or no longer.
[[nodiscard]] Shared find(ncclComm_t handle);
[[nodiscard]] ncclComm_t keep(Shared communicator);
void forget(ncclComm_t handle);

/// Begins a call that goes on while somebody looks: `rest` is called until it returns true. ncclInProgress.
ncclResult_t begin(ncclComm& communicator, std::function<bool()> rest);

/// One look at the call in progress: its state.
ncclResult_t look_at(ncclComm& communicator);

/// What ncclUniqueId holds: who made it, and how many that one had made before.
[[nodiscard]] ncclUniqueId make_id();

/// Begins to meet the other holders of `id`.
ncclResult_t join(const Shared& communicator, int num_ranks, const ncclUniqueId& id, int version);

}  // namespace fake
