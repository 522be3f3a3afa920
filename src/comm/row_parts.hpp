// Cuts rows of an image into messages of a bounded size, or reads and writes them as a stream of bytes.
#pragma once

#include "comm/transfer_channel.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace pb::comm {

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
