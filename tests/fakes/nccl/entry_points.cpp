// The functions of nccl.h that the comm layer calls.
#include "fake_nccl.hpp"
#include "fake_stream.hpp"
#include "operation.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>
#include <utility>

namespace fake {
namespace {

Behaviour current;
int calls_left = 0;  // until the trouble is met
Counts counted;

/// Calls between ncclGroupStart and ncclGroupEnd.
struct Group {
    bool is_open = false;
    Shared communicator;
    cudaStream_t stream = nullptr;
    std::vector<Step> steps;
    ncclResult_t status = ncclSuccess;
};
Group group;

/// The trouble of this call, if it is the one that was chosen.
Trouble meet(std::string_view call) {
    if (current.trouble == Trouble::none || call != current.call || --calls_left != 0) return Trouble::none;
    if (current.trouble == Trouble::stops) (void)std::raise(SIGSTOP);  // mpirun sends SIGCONT before it ends a job
    while (current.trouble == Trouble::never_returns || current.trouble == Trouble::stops) pause();
    if (current.trouble == Trouble::dies) (void)std::raise(SIGKILL);
    return current.trouble;
}

/// As ncclCommEnsureReady: a call on a communicator that another call still occupies is refused.
ncclResult_t refuse_unless_ready(const Shared& communicator) {
    if (communicator == nullptr) return ncclInvalidArgument;
    if (communicator->state == ncclSuccess) return ncclSuccess;
    if (communicator->state != ncclInProgress) return communicator->state;
    communicator->last_error = "Attempt to use communicator before the previous operation returned ncclSuccess";
    return ncclInvalidArgument;
}

/// Begins a call whose last act is `end`, or its trouble.
ncclResult_t begin_call(const Shared& communicator, Trouble trouble, std::function<bool()> end) {
    if (trouble == Trouble::error) return communicator->fail(ncclSystemError, "a fake error of the call");
    if (trouble == Trouble::stays_in_progress) return begin(*communicator, [] { return false; });
    if (trouble != Trouble::async_error) return begin(*communicator, std::move(end));
    return begin(*communicator, [communicator] {
        communicator->fail(ncclRemoteError, "a fake error after the call");
        return true;
    });
}

/// Work that ends only when its communicator is ended by force, if that is the trouble.
Step troubled(const Shared& communicator, Trouble trouble, Step step) {
    if (trouble != Trouble::never_runs) return step;
    return [communicator] { return communicator->is_aborted; };
}

/// One operation, or a part of the open group. It is in its stream once the call is no longer in progress.
ncclResult_t submit(std::string_view call, ncclComm_t handle, cudaStream_t stream,
                    const std::function<Step(const Shared&, Trouble)>& make) {
    const Shared communicator = find(handle);
    if (const ncclResult_t refused = refuse_unless_ready(communicator); refused != ncclSuccess) return refused;
    const Trouble trouble = meet(call);
    Step step = troubled(communicator, trouble, make(communicator, trouble));
    if (group.is_open) {
        if (trouble == Trouble::error) return group.status = communicator->fail(ncclSystemError, "a fake error");
        group.communicator = communicator;
        group.stream = stream;
        group.steps.push_back(std::move(step));
        return ncclSuccess;
    }
    return begin_call(communicator, trouble, [stream, step = std::move(step)] {
        enqueue(stream, step);
        return true;
    });
}

}  // namespace

void behave(const Behaviour& behaviour) {
    current = behaviour;
    calls_left = behaviour.time;
}

Counts counts() { return counted; }

}  // namespace fake

using namespace fake;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = current.version;
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess: return "no error";
        case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case ncclRemoteError: return "remote process exited or there was a network error";
        case ncclInProgress: return "NCCL operation in progress";
        default: return "internal error - please report this issue to the NCCL developers";
    }
}

const char* ncclGetLastError(ncclComm_t handle) {
    const Shared communicator = find(handle);
    return communicator == nullptr ? "" : communicator->last_error.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    if (meet("ncclGetUniqueId") == Trouble::error) return ncclSystemError;
    *id = make_id();
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int num_ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
    if (config == nullptr || config->blocking != 0) return ncclInvalidUsage;  // this fake does not block
    const auto communicator = std::make_shared<ncclComm>();
    communicator->rank = rank;
    *made = keep(communicator);
    ++counted.begun;
    const Trouble trouble = meet("ncclCommInitRankConfig");
    if (trouble != Trouble::none) return begin_call(communicator, trouble, {});
    return join(communicator, num_ranks, id, current.version);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* state) {
    const Shared communicator = find(handle);
    if (communicator == nullptr) return ncclInvalidArgument;
    *state = look_at(*communicator);
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
    const Shared communicator = find(handle);
    if (const ncclResult_t refused = refuse_unless_ready(communicator); refused != ncclSuccess) return refused;
    return begin_call(communicator, meet("ncclCommFinalize"), [communicator] {
        communicator->is_finalised = true;
        return true;
    });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
    const Shared communicator = find(handle);
    if (const ncclResult_t refused = refuse_unless_ready(communicator); refused != ncclSuccess) return refused;
    if (!communicator->is_finalised) return communicator->fail(ncclInvalidUsage, "destroyed before it was finalised");
    forget(handle);
    ++counted.destroyed;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
    const Shared communicator = find(handle);
    if (communicator == nullptr) return ncclInvalidArgument;
    communicator->is_aborted = true;
    forget(handle);
    ++counted.aborted;
    return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* input, void* output, size_t count, ncclDataType_t type, ncclComm_t handle,
                           cudaStream_t stream) {
    return submit("ncclAllGather", handle, stream, [&](const Shared& communicator, Trouble trouble) {
        return collective(communicator, {Call::Kind::all_gather, type, 0, count}, {input, output},
                          trouble == Trouble::wrong_values);
    });
}

ncclResult_t ncclAllReduce(const void* input, void* output, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t handle, cudaStream_t stream) {
    return submit("ncclAllReduce", handle, stream, [&](const Shared& communicator, Trouble trouble) {
        return collective(communicator, {Call::Kind::all_reduce, type, reduction, count}, {input, output},
                          trouble == Trouble::wrong_values);
    });
}

ncclResult_t ncclSend(const void* input, size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
                      cudaStream_t stream) {
    return submit("ncclSend", handle, stream, [&](const Shared& communicator, Trouble) {
        return send_to(communicator, {Call::Kind::point_to_point, type, 0, count}, input, peer);
    });
}

ncclResult_t ncclRecv(void* output, size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
                      cudaStream_t stream) {
    return submit("ncclRecv", handle, stream, [&](const Shared& communicator, Trouble) {
        return receive_from(communicator, {Call::Kind::point_to_point, type, 0, count}, output, peer);
    });
}

ncclResult_t ncclGroupStart() {
    group = {};
    group.is_open = true;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    const Group ended = std::exchange(group, {});
    if (!ended.is_open) return ncclInvalidUsage;
    if (ended.status != ncclSuccess || ended.steps.empty()) return ended.status;
    return begin_call(ended.communicator, meet("ncclGroupEnd"), [ended] {
        enqueue(ended.stream, side_by_side(ended.steps));
        return true;
    });
}

}  // extern "C"
