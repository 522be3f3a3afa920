#include "comm/end_job.hpp"

#include "comm/interruption.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <limits>

namespace pb::comm {
namespace {

constexpr int64_t kNoCall = std::numeric_limits<int64_t>::max();

int64_t steady_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

void end_job(const std::string& rank, const std::string& why) noexcept {
    std::cerr << "patchbench: " + rank + ": " + why + ": ending the job\n" << std::flush;
    MpiSession::abort(static_cast<int>(ExitCode::failed));
}

CallLimit::Running::Running(CallLimit& limit) : deadline_(limit.deadline_ns_) {
    deadline_ = steady_ns() + static_cast<int64_t>(limit.limit_s_ * 1e9);
}

CallLimit::Running::~Running() { deadline_ = kNoCall; }

CallLimit::CallLimit(std::string rank, std::string what, double limit_s)
    : rank_(std::move(rank)), what_(std::move(what)), limit_s_(limit_s), deadline_ns_(kNoCall) {
    const SignalsBlocked in_new_thread;
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

CallLimit::~CallLimit() {
    thread_.request_stop();
    thread_.join();
}

/// Looks ten times within the limit.
void CallLimit::watch(const std::stop_token& stop) {
    const std::chrono::duration<double> interval(limit_s_ / 10);
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, stop, interval, [] { return false; }) && !stop.stop_requested())
        if (steady_ns() > deadline_ns_) end_job(rank_, fmt::format("{} did not return within {} s", what_, limit_s_));
}

}  // namespace pb::comm
