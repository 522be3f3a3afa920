#include "comm/watchdog.hpp"

#include "base/stopwatch.hpp"
#include "comm/interruption.hpp"
#include "comm/shared/node_memory.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace pb::comm {

namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

constexpr Seconds kLongestLookInterval{2.0};

/// One cache line for each rank of the node, in shared memory.
struct alignas(64) Beat {
    std::atomic<uint64_t> count{0};
    std::atomic<bool> left{false};      // its watchdog has ended: no longer watched
    std::atomic<bool> aborting{false};  // in the first line only: one rank is ending the job
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "atomics shared by processes must be lock-free");

/// Makes the beats of all ranks in shared memory; returns when every rank of the node has made its own.
NodeMemory make_beats(const Communicator& node) {
    NodeMemory memory(node, static_cast<size_t>(node.size()) * sizeof(Beat));
    new (memory.bytes().data() + static_cast<size_t>(node.rank()) * sizeof(Beat)) Beat;
    node.barrier();
    return memory;
}

std::string describe_rank(int rank) { return fmt::format("rank {}@{} (pid {})", rank, host_name(), getpid()); }

}  // namespace

struct Watchdog::Impl {
    Impl(const Communicator& world, const Communicator& node, Seconds silence_allowed)
        : timeout(silence_allowed),
          local_rank(static_cast<size_t>(node.rank())),
          names(node.all_gather(describe_rank(world.rank()))),
          memory(make_beats(node)),
          seen(names.size()) {
        const SignalsBlocked in_new_thread;
        thread = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    }
    ~Impl() {
        thread.request_stop();
        thread.join();
        beat(local_rank).left = true;
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    /// The last count seen of a rank, and when it changed.
    struct Sight {
        uint64_t count = 0;
        Clock::time_point since;
    };

    [[nodiscard]] Beat& beat(size_t rank) const { return reinterpret_cast<Beat*>(memory.bytes().data())[rank]; }
    void watch(const std::stop_token& stop);
    void look(Clock::time_point now);
    [[nodiscard]] std::vector<size_t> missing_at(Clock::time_point now) const;
    void end_job(const std::vector<size_t>& missing);
    [[noreturn]] void report_and_abort(const std::vector<size_t>& missing) const;

    const Seconds timeout;
    const size_t local_rank;
    const std::vector<std::string> names;
    const NodeMemory memory;
    std::vector<Sight> seen;
    std::mutex mutex;
    std::condition_variable_any ended;
    std::jthread thread;
};

/// Counts and looks until the watchdog ends. When a look comes late by a quarter of the time-out, this process itself
/// was stopped (the job was suspended, or the host overloaded) and knows nothing about the others: their times restart.
void Watchdog::Impl::watch(const std::stop_token& stop) {
    const Seconds interval = std::min(kLongestLookInterval, timeout / 4);
    Clock::time_point last_look = Clock::now();
    for (Sight& sight : seen) sight.since = last_look;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, interval, [] { return false; }) && !stop.stop_requested()) {
        const auto now = Clock::now();
        beat(local_rank).count.fetch_add(1);
        if (now - last_look - interval > timeout / 4)
            for (Sight& sight : seen) sight.since = now;
        last_look = now;
        look(now);
        const auto missing = missing_at(now);
        if (!missing.empty()) end_job(missing);
    }
}

void Watchdog::Impl::look(Clock::time_point now) {
    for (size_t rank = 0; rank < seen.size(); ++rank) {
        const uint64_t count = beat(rank).count.load();
        if (count != seen[rank].count) seen[rank] = {count, now};
    }
}

std::vector<size_t> Watchdog::Impl::missing_at(Clock::time_point now) const {
    std::vector<size_t> missing;
    for (size_t rank = 0; rank < seen.size(); ++rank)
        if (rank != local_rank && !beat(rank).left && now - seen[rank].since > timeout) missing.push_back(rank);
    return missing;
}

/// The first rank that notices reports and ends the job; the others do so only when that has not happened within
/// another time-out.
void Watchdog::Impl::end_job(const std::vector<size_t>& missing) {
    if (!beat(0).aborting.exchange(true)) report_and_abort(missing);
    std::this_thread::sleep_for(timeout);
    report_and_abort(missing);
}

void Watchdog::Impl::report_and_abort(const std::vector<size_t>& missing) const {
    std::ostringstream message;
    message << "patchbench: " << names[local_rank] << ": no sign of life for " << timeout.count() << " s from ";
    for (size_t i = 0; i < missing.size(); ++i) message << (i == 0 ? "" : ", ") << names[missing[i]];
    message << ": stopped, or dead; ending the job\n";
    std::cerr << message.str() << std::flush;
    MpiSession::abort(static_cast<int>(ExitCode::failed));
}

Watchdog::Watchdog(const Communicator& world, double timeout_s) {
    const Communicator node = world.node();
    if (timeout_s > 0) impl_ = std::make_unique<Impl>(world, node, Seconds(timeout_s));
}

Watchdog::~Watchdog() = default;

void end_job(const std::string& rank, const std::string& why) noexcept {
    std::cerr << "patchbench: " + rank + ": " + why + ": ending the job\n" << std::flush;
    MpiSession::abort(static_cast<int>(ExitCode::failed));
}

CallLimit::Running::Running(CallLimit& limit) : deadline_s_(limit.deadline_s_) {
    deadline_s_ = monotonic_seconds() + limit.limit_s_;
}

CallLimit::Running::~Running() { deadline_s_ = HUGE_VAL; }

CallLimit::CallLimit(std::string rank, std::string what, double limit_s)
    : rank_(std::move(rank)), what_(std::move(what)), limit_s_(limit_s) {
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
        if (monotonic_seconds() > deadline_s_)
            end_job(rank_, fmt::format("{} did not return within {} s", what_, limit_s_));
}

}  // namespace pb::comm
