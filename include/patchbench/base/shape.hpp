// Extents, element types and memory layouts: the words in which buffers are described between the layers.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace pb {

/// Height and width in pixels.
struct Extent {
    int64_t h = 0;
    int64_t w = 0;
    [[nodiscard]] constexpr int64_t pixels() const { return h * w; }
    friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

/// A rectangle of pixels: rows [row, row + extent.h), columns [column, column + extent.w).
struct Rect {
    int64_t row = 0;
    int64_t column = 0;
    Extent extent;
    friend constexpr bool operator==(const Rect&, const Rect&) = default;
};

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

/// Extents of a batch; the order in memory is said by `Layout`, never by this struct.
struct Shape {
    int64_t n = 0;
    int64_t c = 0;
    int64_t h = 0;
    int64_t w = 0;
    [[nodiscard]] constexpr int64_t elements() const { return n * c * h * w; }
    [[nodiscard]] constexpr int64_t pixels() const { return n * h * w; }
    friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

/// Element type of a buffer. `tf32` is not one: it is a way to multiply f32 (see `Precision`). i16, u32 and f64 are
/// found in files only.
enum class DType : uint8_t { u8, u16, f16, bf16, f32, f64, i16, u32 };

/// How a network computes: the words of the setting `dtype`.
enum class Precision : uint8_t { fp32, tf32, bf16, fp16 };

enum class Layout : uint8_t { channels_last, contiguous };  // NHWC | NCHW in memory

[[nodiscard]] constexpr size_t size_of(DType type) {
    switch (type) {
        case DType::u8: return 1;
        case DType::u16:
        case DType::f16:
        case DType::bf16:
        case DType::i16: return 2;
        case DType::f32:
        case DType::u32: return 4;
        case DType::f64: return 8;
    }
    return 0;
}

[[nodiscard]] constexpr DType storage_of(Precision precision) {
    switch (precision) {
        case Precision::bf16: return DType::bf16;
        case Precision::fp16: return DType::f16;
        default: return DType::f32;
    }
}

[[nodiscard]] constexpr bool is_float(DType type) {
    return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

/// Value of a sample that stands for 1: 255 and 65535 of integers from 0 on; 1 of float types, which hold [0,1], and of
/// i16 and u32, of which nothing is agreed.
[[nodiscard]] constexpr double full_scale(DType type) {
    return type == DType::u8 ? 255.0 : type == DType::u16 ? 65535.0 : 1.0;
}

/// What two rectangles that meet have in common.
[[nodiscard]] constexpr Rect intersection(const Rect& a, const Rect& b) {
    const int64_t row = std::max(a.row, b.row), column = std::max(a.column, b.column);
    return {row,
            column,
            {std::min(a.row + a.extent.h, b.row + b.extent.h) - row,
             std::min(a.column + a.extent.w, b.column + b.extent.w) - column}};
}

/// The middle of `whole`, of the extent `part`.
[[nodiscard]] constexpr Rect centre_of(Extent whole, Extent part) {
    return {(whole.h - part.h) / 2, (whole.w - part.w) / 2, part};
}

[[nodiscard]] constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
[[nodiscard]] constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

inline constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace pb
