// Border rows between ranks whose slabs lie side by side, above and below, one exchange after another. They go by MPI
// from host memory to host memory (Neighbours), or by NCCL from GPU to GPU (make_device_borders).
//
// Note [Giving up]: in each exchange a rank sends one message by MPI to each neighbour and waits for one of each. A
// rank that has failed takes part in one more exchange, with empty messages. Who receives an empty message fails as
// well, and lets its other neighbour go in the next exchange. Two neighbours are never more than one exchange apart, so
// each message has its receiver, nothing is left over for the next pass, and no rank waits for ever.
//
// Note [Rows by NCCL]: what is given to NCCL cannot be withdrawn, and waits on the GPU for its counterpart. So the
// messages of Note [Giving up] have one byte each, and a rank gives NCCL the rows between itself and a neighbour once
// that neighbour's byte has come. The neighbour has this rank's byte as well and does the same, also when one of the
// two fails before it gets there. A failure after the bytes (of NCCL, of the GPU, of the link) ends the job: at once
// where it is seen, after a time-out where it is only missed.
#pragma once

#include "comm/communicator.hpp"

#include "patchbench/base/choices.hpp"
#include "patchbench/base/device_id.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/base/views.hpp"
#include "patchbench/device/stream.hpp"

#include <array>
#include <memory>
#include <optional>

namespace pb::comm {

/// A neighbour has failed, which it reports itself, so this rank cannot go on.
class NeighbourFailed : public Error {
  public:
    using Error::Error;
};

/// Ranks of a communicator; none: no neighbour on that side.
struct NeighbourRanks {
    std::optional<int> above, below;
    [[nodiscard]] bool are_none() const { return !above && !below; }
};

/// Not collective. Both ends of a border name the same sizes, which are not 0. What cannot be taken back when it fails
/// ends the job: a neighbour may wait for it.
class BorderChannel {
  public:
    virtual ~BorderChannel() = default;
    /// Begins a pass of so many exchanges, the same number on all ranks.
    virtual void begin_pass(int64_t num_exchanges) = 0;
    /// Begins the next exchange. The memory stays in use until finish(). Rows of a device are those after the work that
    /// is on the stream by now.
    virtual void start(const BorderRows& above, const BorderRows& below) = 0;
    /// Waits for the exchange; rows of a device are there for work that is enqueued later. Throws NeighbourFailed.
    virtual void finish() = 0;
    /// Waits for what finish() has left to the device. With a time-out, unlike Stream::synchronise(), which may follow.
    virtual void finish_pass() = 0;
    /// This rank cannot go on with the pass. Returns when its neighbours know, which is when they are as far, and the
    /// device has done what they wait for.
    virtual void give_up() noexcept = 0;
    /// Bytes of rows that were sent in this pass.
    [[nodiscard]] virtual int64_t bytes_sent() const = 0;
};

/// Carries border rows from device to device. A team of ranks makes it once: that takes longer than a point.
class DeviceBorders {
  public:
    virtual ~DeviceBorders() = default;
    /// Not collective. For rows in memory of the device; exchanges take their place among the work of `stream`. This
    /// object and `stream` must outlive the channel.
    [[nodiscard]] virtual std::unique_ptr<BorderChannel> open(const NeighbourRanks& neighbours,
                                                              device::Stream& stream) = 0;
};

/// Collective over `ranks`. Null unless `kind` is nccl: rows then go by MPI, through memory of the host. `automatic`
/// takes that as well, since NCCL has not been measured yet. Throws UsageError (on all ranks) when NCCL cannot be.
/// Contract of the others, and of what it owns: make_metric_reduction.
[[nodiscard]] std::unique_ptr<DeviceBorders> make_device_borders(const Communicator& ranks, ExchangeKind kind,
                                                                 DeviceId device, bool own_device, double timeout_s);

/// Border rows in host memory, by MPI: Note [Giving up].
class Neighbours final : public BorderChannel {
  public:
    /// `largest`: bytes of the largest message. Throws UsageError where MPI cannot count them. `all` must outlive it.
    Neighbours(const Communicator& all, const NeighbourRanks& ranks, size_t largest);
    ~Neighbours() override;
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

    void begin_pass(int64_t num_exchanges) override;
    void start(const BorderRows& above, const BorderRows& below) override;
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
