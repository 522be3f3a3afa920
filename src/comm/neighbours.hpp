// Border rows in host memory, by MPI: Note [Giving up].
#pragma once

#include "comm/border_channel.hpp"

#include <array>

namespace pb::comm {

class Neighbours final : public BorderChannel {
  public:
    /// `largest`: bytes of the largest message. Throws UsageError where MPI cannot count them. `all` must outlive it.
    Neighbours(const Communicator& all, const NeighbourRanks& ranks, size_t largest);
    ~Neighbours() override;
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

    void begin_pass(int64_t num_exchanges) override;
    void start(const NeighbourMessage& above, const NeighbourMessage& below) override;
    void finish() override;
    void finish_pass() override {}
    void give_up() noexcept override;
    [[nodiscard]] int64_t bytes_sent() const override;

    // finish() in two halves.

    /// Waits for the exchange.
    void wait();
    /// Throws NeighbourFailed when a neighbour has failed.
    void require_alive() const;
    /// The neighbours above and below; none where there is none, or where it has failed.
    [[nodiscard]] std::array<std::optional<int>, 2> alive() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::comm
