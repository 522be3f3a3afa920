// Ends a job in which a rank has stopped or died. A thread of each rank counts up in shared memory of the node and
// looks at the counts of the other ranks; when one has not changed for the time-out, it names that rank and aborts the
// job. MPI itself notices a rank that is lost on another node.
#pragma once

#include "comm/communicator.hpp"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace pb::comm {

class Watchdog {
  public:
    /// Collective over `world`. `timeout_s` <= 0 turns it off (for debuggers, which stop ranks). The watchdog's own
    /// thread does the counting: it shows that the process runs, not that its work advances. A job that is suspended as
    /// a whole and resumed is not aborted.
    Watchdog(const Communicator& world, double timeout_s);
    /// Not collective: the other ranks stop watching this one. Uses no MPI: let it outlive the MpiSession (an optional
    /// that is declared before it), so that it also notices a rank that stops while all finalise.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Ends the job where a call fails, or does not return, whose counterpart another rank waits for.

/// Prints "patchbench: <rank>: <why>: ending the job" and ends the job with exit code 1.
[[noreturn]] void end_job(const std::string& rank, const std::string& why) noexcept;

/// Runs `call`; when it throws, ends the job. `what` the call does is put before the text of the error.
template <class Call>
void or_end_job(const std::string& rank, const std::string& what, Call&& call) noexcept {
    try {
        std::forward<Call>(call)();
    } catch (const std::exception& error) {
        end_job(rank, what + ": " + error.what());
    }
}

/// Ends the job when a call does not return, as one of a driver may: a thread looks.
class CallLimit {
  public:
    /// `what`: the calls, in the message.
    CallLimit(std::string rank, std::string what, double limit_s);
    ~CallLimit();
    CallLimit(const CallLimit&) = delete;
    CallLimit& operator=(const CallLimit&) = delete;

    /// Runs `call`, which must return within the limit.
    template <class Call>
    void operator()(Call&& call) {
        const Running running(*this);
        std::forward<Call>(call)();
    }

  private:
    /// While it exists a call is running.
    class Running {
      public:
        explicit Running(CallLimit& limit);
        ~Running();
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        std::atomic<double>& deadline_s_;
    };
    void watch(const std::stop_token& stop);

    std::string rank_, what_;
    double limit_s_;
    std::atomic<double> deadline_s_{HUGE_VAL};  // on the monotonic clock; infinite between calls
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread thread_;
};

}  // namespace pb::comm
