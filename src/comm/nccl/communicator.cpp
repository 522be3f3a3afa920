#include "comm/nccl/communicator.hpp"

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "device/cuda/check.hpp"

#include "patchbench/device/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace pb::comm::nccl {
namespace {

constexpr double kSpinS = 200e-6;

bool has_failed(ncclResult_t status) { return status != ncclSuccess && status != ncclInProgress; }

/// Whether work of a device has ended, which `state` of a query says.
bool has_ended(cudaError_t state) {
    if (state == cudaErrorNotReady) return false;
    pb::device::check(state);
    return true;
}

ncclResult_t enqueue(const DeviceBytes& message, ncclComm_t native, cudaStream_t stream) {
    return message.sent != nullptr ? ncclSend(message.sent, message.bytes, ncclUint8, message.peer, native, stream)
                                   : ncclRecv(message.received, message.bytes, ncclUint8, message.peer, native, stream);
}

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

void check(ncclResult_t status, ncclComm_t communicator, std::source_location where) {
    if (!has_failed(status)) return;
    const char* last = ncclGetLastError(communicator);
    throw Error(fmt::format("NCCL: {}{}, at {}; NCCL_DEBUG=INFO says more", ncclGetErrorString(status),
                            last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last), place_text(where)));
}

void poll(const std::function<bool()>& done, const std::string& what, double timeout_s) {
    const Stopwatch watch;
    while (!done()) {
        const double waited_s = watch.seconds();
        if (waited_s > timeout_s)
            throw TimedOut(
                fmt::format("{} did not end within {} s: a rank is missing, or the network between the nodes is wrong "
                            "(NCCL_SOCKET_IFNAME, NCCL_IB_HCA)",
                            what, timeout_s));
        if (waited_s > kSpinS) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

NcclCommunicator::NcclCommunicator(int num_ranks, int rank, const ncclUniqueId& id, double timeout_s)
    : NcclCommunicator(timeout_s) {  // from here on the destructor ends NCCL when a check below throws
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t begun = ncclCommInitRankConfig(&native_, num_ranks, id, rank, &config);
    check(begun, native_);
    poll([&] { return is_idle(); }, "NCCL bring-up", timeout_s);
}

NcclCommunicator::~NcclCommunicator() { close(); }

bool NcclCommunicator::is_idle() const {
    ncclResult_t state = ncclInProgress;
    check(ncclCommGetAsyncError(native_, &state), native_);
    check(state, native_);
    return state == ncclSuccess;
}

void NcclCommunicator::submit(const std::function<ncclResult_t(ncclComm_t)>& submit, const std::string& what) {
    require(native_ != nullptr, what + ": NCCL was ended by an earlier error");
    check(submit(native_), native_);
    poll([&] { return is_idle(); }, what, timeout_s_);
}

void NcclCommunicator::run(const std::function<ncclResult_t(ncclComm_t)>& submit, cudaStream_t stream,
                           const std::string& what) {
    this->submit(submit, what);
    poll_device([&] { return cudaStreamQuery(stream); }, what);
}

void NcclCommunicator::exchange(std::span<const DeviceBytes> messages, cudaStream_t stream) {
    const auto send_and_receive = [&](ncclComm_t native) {
        ncclResult_t status = ncclGroupStart();
        for (const DeviceBytes& message : messages)
            if (!has_failed(status)) status = enqueue(message, native, stream);
        const ncclResult_t ended = ncclGroupEnd();
        return has_failed(status) ? status : ended;
    };
    submit(send_and_receive, "ncclSend and ncclRecv");
}

void NcclCommunicator::wait_for(const device::Event& event, const std::string& what) const {
    poll_device([&] { return cudaEventQuery(static_cast<cudaEvent_t>(event.native())); }, what);
}

void NcclCommunicator::poll_device(const std::function<cudaError_t()>& state, const std::string& what) const {
    const auto is_done = [&] {
        (void)is_idle();
        return has_ended(state());
    };
    poll(is_done, what, timeout_s_);
}

void NcclCommunicator::abort() noexcept {
    if (native_ != nullptr) ncclCommAbort(std::exchange(native_, nullptr));
}

void NcclCommunicator::close() noexcept {
    if (native_ == nullptr) return;
    if (std::uncaught_exceptions() > 0) return abort();
    try {
        check(ncclCommFinalize(native_), native_);
        poll([&] { return is_idle(); }, "NCCL shutdown", timeout_s_);
        check(ncclCommDestroy(std::exchange(native_, nullptr)));
    } catch (const std::exception&) {
        abort();  // a peer is gone
    }
}

NcclRanks::NcclRanks(Communicator ranks, DeviceId device, double timeout_s)
    : ranks_(std::move(ranks)), barrier_(ranks_), device_(device), timeout_s_(timeout_s) {
    const ncclUniqueId id = share_unique_id(ranks_);
    together("NCCL bring-up", [&] {
        device::select_device(device_);
        stream_.emplace(device_);
        nccl_.emplace(ranks_.size(), ranks_.rank(), id, timeout_s_);
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
        if (nccl_) nccl_->abort();
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
