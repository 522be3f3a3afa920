// Who owns what is arithmetic: contiguous shares of `count` items whose sizes differ by at most one.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstdint>

namespace pb {

/// Half-open range [begin, end).
struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    [[nodiscard]] constexpr int64_t size() const { return end - begin; }
    friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// The rectangle of these rows and columns.
[[nodiscard]] constexpr Rect rect_of(const Range& rows, const Range& columns) {
    return {rows.begin, columns.begin, {rows.size(), columns.size()}};
}

/// Share of `rank` among `num_ranks`: [count * rank / num_ranks, count * (rank + 1) / num_ranks).
[[nodiscard]] constexpr Range shard(int64_t count, int64_t rank, int64_t num_ranks) {
    return {count * rank / num_ranks, count * (rank + 1) / num_ranks};
}

}  // namespace pb
