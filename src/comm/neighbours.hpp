// Messages between ranks that lie side by side, above and below, one exchange after another; and how a rank that fails
// on the way lets its neighbours go.
//
// Note [Giving up]: in each exchange a rank sends one message to each neighbour and waits for one of each. A rank that
// has failed takes part in one more exchange, with empty messages. Who receives an empty message fails as well, and
// lets its other neighbour go in the next exchange. Two neighbours are never more than one exchange apart, so each
// message has its receiver, nothing is left over for the next pass, and no rank waits for ever.
#pragma once

#include "comm/communicator.hpp"

#include "patchbench/base/error.hpp"

#include <optional>

namespace pb::comm {

/// A neighbour has failed, which it reports itself, so this rank cannot go on.
class NeighbourFailed : public Error {
  public:
    using Error::Error;
};

/// What goes to a neighbour and what comes from it. Both ends name the same sizes, which are not 0.
struct NeighbourMessage {
    std::span<const std::byte> sent;
    std::span<std::byte> received;
};

/// Not collective. A call of MPI that fails ends the job, because a neighbour may wait for the message.
class Neighbours {
  public:
    struct Ranks {
        std::optional<int> above, below;  // in the communicator; none: no neighbour on that side
        [[nodiscard]] bool are_none() const { return !above && !below; }
    };

    /// `largest`: bytes of the largest message. Throws UsageError where MPI cannot count them. `all` must outlive it.
    Neighbours(const Communicator& all, const Ranks& ranks, size_t largest);
    ~Neighbours();
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

    /// Begins a pass of so many exchanges, the same number on all ranks.
    void begin_pass(int64_t num_exchanges);
    /// Begins the next exchange. The memory stays in use until finish().
    void start(const NeighbourMessage& above, const NeighbourMessage& below);
    /// Waits for the exchange. Throws NeighbourFailed.
    void finish();
    /// This rank cannot go on with the pass. Returns when its neighbours know, which is when they are as far.
    void give_up() noexcept;

    /// Bytes sent in this pass.
    [[nodiscard]] int64_t bytes_sent() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::comm
