// A number that every rank can take and raise in one step: how ranks share out work when they are ready for more. It
// lies with the root (MPI one-sided, passive target), whose program takes no part in it. On one node, and over networks
// with remote atomics, a number comes at once; over others (TCP) when the root next calls MPI, so ask for it early.
#pragma once

#include "comm/communicator.hpp"

#include <cstdint>
#include <memory>

namespace pb {

class SharedCounter {
  public:
    /// Collective over `ranks`, which must outlive it. Starts at 0.
    explicit SharedCounter(const Communicator& ranks);
    ~SharedCounter();  // collective
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    /// Back to 0. Collective: no number taken before comes after it.
    void reset();
    /// Asks for the next number and goes on; does nothing when one is on its way already. Not collective.
    void request();
    /// The number asked for (asks, where nobody did): each of 0, 1, 2, ... goes to exactly one rank. Not collective.
    [[nodiscard]] int64_t take();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb
