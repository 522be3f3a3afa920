// Sends rows of an image from ranks of other nodes to the root, by MPI, or by NCCL through the ranks' GPUs. The caller
// names the rows and their senders; source and destination are host memory.
#pragma once

#include "comm/communicator.hpp"

#include "patchbench/base/choices.hpp"
#include "patchbench/base/device_id.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace pb::comm {

/// Rows of equal length in host memory, `stride` bytes from one to the next.
struct Rows {
    std::byte* first = nullptr;
    size_t count = 0;
    size_t bytes = 0;  // per row
    size_t stride = 0;

    [[nodiscard]] size_t total() const { return count * bytes; }
};

/// What one rank sends to the root. On that rank `rows` are read, on the root they are written.
struct RowTransfer {
    int from = 0;
    std::vector<Rows> rows;

    [[nodiscard]] size_t total() const {
        size_t bytes = 0;
        for (const Rows& each : rows) bytes += each.total();
        return bytes;
    }
};

class TransferChannel {
  public:
    virtual ~TransferChannel() = default;
    /// "MPI" or "NCCL": the results say which.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Called by the root with the transfers of all senders, and by each sender with its own; other ranks need not call
    /// it. Both ends name the same counts and lengths of rows in the same order. Memory is bounded, whatever the size
    /// of the transfers. After an error the ranks are out of step: the job must be ended (MpiSession::abort).
    virtual void transfer(std::span<const RowTransfer> transfers) = 0;
};

/// Collective over `ranks`; `senders` (ascending, never the root) are the same on all of them. `automatic` takes MPI.
/// Throws UsageError (on all ranks) when `nccl` is asked for and cannot be. Contract of `device`, `own_device` and
/// `timeout_s`, and of what it owns: make_metric_reduction.
[[nodiscard]] std::unique_ptr<TransferChannel> make_transfer_channel(const Communicator& ranks,
                                                                     const std::vector<int>& senders, ExchangeKind kind,
                                                                     DeviceId device, bool own_device,
                                                                     double timeout_s);

// Cuts rows of an image into messages of a bounded size, or reads and writes them as a stream of bytes.

/// The same bytes in the same order, in parts of at most `limit` bytes: whole rows where they fit, else pieces of a
/// row. The cut depends on counts and lengths, not on the stride: sender and receiver get the same parts.
[[nodiscard]] std::vector<Rows> cut_rows(std::span<const Rows> rows, size_t limit);

/// Reads or writes rows in order, any number of bytes at a time.
class RowStream {
  public:
    explicit RowStream(std::span<const Rows> rows);
    [[nodiscard]] size_t bytes_left() const { return left_; }
    /// Copies the next bytes from the rows to `next`, at most bytes_left().
    void read(std::span<std::byte> next);
    /// Copies `next`, at most bytes_left(), to the rows.
    void write(std::span<const std::byte> next);
    /// Skips the next bytes. A copy of a stream keeps its own position, so that threads can copy parts of a chunk in
    /// parallel.
    void skip(size_t bytes);

  private:
    /// Calls `copy(place, offset, bytes)` for each run of the next `bytes`.
    template <class Copy>
    void advance(size_t bytes, Copy&& copy);

    std::shared_ptr<const std::vector<Rows>> rows_;  // without empty ones
    size_t left_ = 0;
    size_t index_ = 0;   // next entry of *rows_
    size_t row_ = 0;     // next row of that entry
    size_t offset_ = 0;  // next byte of that row
};

}  // namespace pb::comm
