// Rows of an image as messages of a bounded size, and as a stream of bytes.
#pragma once

#include "comm/transfer_channel.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace pb {

/// The same bytes in the same order, in parts of at most `limit` bytes: whole rows where they fit, else pieces of one.
/// Equal rows at equal lengths are cut alike, whatever their stride.
[[nodiscard]] std::vector<Rows> cut_rows(std::span<const Rows> rows, size_t limit);

/// Reads or writes rows in order, however little or much at a time.
class RowStream {
  public:
    explicit RowStream(std::span<const Rows> rows);
    [[nodiscard]] size_t bytes_left() const { return left_; }
    /// Copies the next bytes out of the rows. As write(), never more than are left.
    void read(std::span<std::byte> next);
    void write(std::span<const std::byte> next);
    /// Passes over the next bytes. Copies of a stream go on from where it was, so that parts of a chunk can be copied
    /// side by side.
    void skip(size_t bytes);

  private:
    /// Calls `copy(place, offset, bytes)` for each run of the next `bytes`.
    template <class Copy>
    void advance(size_t bytes, Copy&& copy);

    std::shared_ptr<const std::vector<Rows>> rows_;  // none of them empty
    size_t left_ = 0;
    size_t index_ = 0;   // of the rows that come next
    size_t row_ = 0;     // among them
    size_t offset_ = 0;  // in it
};

}  // namespace pb
