// A counter from which each rank takes the next number in one atomic step: ranks fetch their next work item with it.
// The counter lies on the root (MPI one-sided, passive target); the code of the root does not serve requests. On one
// node, and over networks with remote atomics, a number arrives immediately. Over other networks (TCP) it arrives when
// the root next calls MPI, so request it early.
#pragma once

#include "comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pb::comm {

/// Why ranks of one host cannot share a counter: Open MPI's memory of windows lies in /dev/shm, and where ranks of
/// containers of their own see another one they would wait for each other for ever. None: they can. Collective.
[[nodiscard]] std::optional<std::string> shared_counter_obstacle(const Communicator& ranks);

class SharedCounter {
  public:
    /// Collective over `ranks`, which must outlive it. Starts at 0.
    explicit SharedCounter(const Communicator& ranks);
    ~SharedCounter();  // collective
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    /// Sets it back to 0. Collective.
    void reset();
    /// Requests the next number without waiting for it; does nothing when one is already requested. Not collective.
    void request();
    /// Waits for the requested number; requests it first if needed. Each of 0, 1, 2, ... goes to exactly one rank. Not
    /// collective.
    [[nodiscard]] int64_t take();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::comm
