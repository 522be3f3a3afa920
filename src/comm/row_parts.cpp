#include "comm/row_parts.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <utility>

namespace pb::comm {

std::vector<Rows> cut_rows(std::span<const Rows> rows, size_t limit) {
    std::vector<Rows> parts;
    for (const Rows& all : rows) {
        const size_t rows_a_part = limit / std::max<size_t>(all.bytes, 1);
        for (size_t row = 0; rows_a_part > 0 && row < all.count; row += rows_a_part)
            parts.push_back(
                {all.first + row * all.stride, std::min(rows_a_part, all.count - row), all.bytes, all.stride});
        for (size_t row = 0; rows_a_part == 0 && row < all.count; ++row)
            for (size_t begin = 0; begin < all.bytes; begin += limit) {
                const size_t bytes = std::min(limit, all.bytes - begin);
                parts.push_back({all.first + row * all.stride + begin, 1, bytes, bytes});
            }
    }
    return parts;
}

RowStream::RowStream(std::span<const Rows> rows) {
    std::vector<Rows> filled(rows.begin(), rows.end());
    std::erase_if(filled, [](const Rows& each) { return each.total() == 0; });
    for (const Rows& each : filled) left_ += each.total();
    rows_ = std::make_shared<const std::vector<Rows>>(std::move(filled));
}

template <class Copy>
void RowStream::advance(size_t bytes, Copy&& copy) {
    require(bytes <= left_, "a stream of rows was asked for more bytes than it has");
    left_ -= bytes;
    for (size_t done = 0; done < bytes;) {
        const Rows& rows = (*rows_)[index_];
        const size_t run = std::min(bytes - done, rows.bytes - offset_);
        copy(rows.first + row_ * rows.stride + offset_, done, run);
        done += run;
        offset_ += run;
        if (offset_ == rows.bytes) offset_ = 0, ++row_;
        if (row_ == rows.count) row_ = 0, ++index_;
    }
}

void RowStream::read(std::span<std::byte> next) {
    advance(next.size(), [&](const std::byte* place, size_t offset, size_t bytes) {
        std::copy_n(place, bytes, next.data() + offset);
    });
}

void RowStream::write(std::span<const std::byte> next) {
    advance(next.size(),
            [&](std::byte* place, size_t offset, size_t bytes) { std::copy_n(next.data() + offset, bytes, place); });
}

void RowStream::skip(size_t bytes) {
    advance(bytes, [](const std::byte*, size_t, size_t) {});
}

}  // namespace pb::comm
