// Rows in memory, with gaps between them that nobody may write.
#pragma once

#include "comm/rows/transfer_channel.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pb {

inline constexpr std::byte kUntouched{0xEE};

/// Byte `index` of what `rank` sends.
inline std::byte byte_of(int rank, size_t index) {
    return static_cast<std::byte>((index * 7 + index / 251 + rank * 31) % 200);
}

/// Sizes of rows of one transfer, and the memory that holds them, with gaps between the rows.
class RowPlace {
  public:
    struct Shape {
        size_t count, bytes, gap;
    };
    explicit RowPlace(const std::vector<Shape>& shapes) {
        size_t size = 0;
        for (const Shape& shape : shapes) size += shape.count * (shape.bytes + shape.gap);
        memory_.assign(size, kUntouched);
        std::byte* first = memory_.data();
        for (const Shape& shape : shapes) {
            rows_.push_back({first, shape.count, shape.bytes, shape.bytes + shape.gap});
            first += shape.count * (shape.bytes + shape.gap);
        }
    }
    [[nodiscard]] const std::vector<comm::Rows>& rows() const { return rows_; }

    void fill(int rank) {
        for_bytes([&, index = size_t{0}](std::byte& byte) mutable { byte = byte_of(rank, index++); });
    }
    /// Whether all bytes came, in order, and nothing between the rows was written.
    [[nodiscard]] bool holds(int rank) {
        bool all = true;
        for_bytes([&, index = size_t{0}](std::byte& byte) mutable {
            all = all && byte == byte_of(rank, index++);
            byte = kUntouched;
        });
        return all && std::ranges::all_of(memory_, [](std::byte byte) { return byte == kUntouched; });
    }

  private:
    template <class Function>
    void for_bytes(Function&& each) {
        for (const comm::Rows& rows : rows_)
            for (size_t row = 0; row < rows.count; ++row)
                for (size_t i = 0; i < rows.bytes; ++i) each(rows.first[row * rows.stride + i]);
    }

    std::vector<std::byte> memory_;
    std::vector<comm::Rows> rows_;
};

inline std::vector<RowPlace::Shape> nothing() { return {}; }
inline std::vector<RowPlace::Shape> one_byte() { return {{1, 1, 3}}; }
inline std::vector<RowPlace::Shape> narrow_rows() {
    return {{37, 11, 5}, {1, 1000, 0}, {3, 0, 4}, {5, 64, 0}, {1, 7, 1}};
}
inline std::vector<RowPlace::Shape> beyond_a_message() {
    return {{3, (4U << 20) + 5, 9}, {1, 9U << 20, 0}, {100000, 13, 3}};
}

}  // namespace pb
