#include "run/pixels/slab.hpp"

#include "base/fault.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pb::run {

namespace {

/// Calls `row(source, count, replicated, y)` for each row of `window`: `count` pixels lie in the image, and
/// `replicated` more repeat its last column.
template <class RowFunction>
void for_rows(const Slab& slab, const Rect& window, RowFunction&& row) {
    const int64_t count = std::min(window.extent.w, slab.image.w - window.column);
    for (int64_t y = 0; y < window.extent.h; ++y)
        row(slab.at(std::min(window.row + y, slab.image.h - 1), window.column), count, window.extent.w - count, y);
}

/// Repeats the pixel before `end` `count` times.
void replicate_last(std::byte* end, size_t pixel_bytes, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        std::memcpy(end + static_cast<size_t>(i) * pixel_bytes, end - pixel_bytes, pixel_bytes);
}

Rect share_of_rows(const Slab& slab, int local_rank, int local_size) {
    const Range share = shard(slab.pixels.extent.h, local_rank, local_size);
    return {slab.row + share.begin, 0, {share.size(), slab.image.w}};
}

}  // namespace

Slab slab_of(const Rect& part, Extent image, int64_t channels, DType dtype, std::vector<std::byte>& memory) {
    memory.resize(static_cast<size_t>(part.extent.pixels() * channels) * size_of(dtype));
    return {dense_view(memory.data(), part.extent, channels, dtype), image, part.row, part.column};
}

SharedSlab::SharedSlab(const comm::Communicator& node, Extent image, Range rows, int64_t channels, DType dtype)
    : slab_{dense_view<std::byte>(nullptr, {rows.size(), image.w}, channels, dtype), image, rows.begin} {
    memory_ = comm::NodeMemory(node, std::max<size_t>(slab_.pixels.bytes(), 1));
    slab_.pixels.pixels = memory_.bytes().data();
}

void read_into(const Slab& slab, ImageSource& source, int local_rank, int local_size) {
    const bool one_reads = !source.windowed();
    if (one_reads && local_rank != 0) return;
    const Rect rows = one_reads ? share_of_rows(slab, 0, 1) : share_of_rows(slab, local_rank, local_size);
    inject_fault("read");
    if (rows.extent.h > 0) source.read(rows, slab.part(rows));
}

void add_noise_into(const Slab& slab, ImageSource& source, int local_rank, int local_size) {
    const Rect rows = share_of_rows(slab, local_rank, local_size);
    if (rows.extent.h > 0) source.add_noise_to(rows, slab.part(rows));
}

void cut_window(const Slab& slab, const Rect& window, std::byte* samples) {
    const size_t pixel_bytes = slab.pixels.pixel_bytes();
    const size_t window_row = static_cast<size_t>(window.extent.w) * pixel_bytes;
    for_rows(slab, window, [&](const std::byte* source, int64_t count, int64_t replicated, int64_t y) {
        std::byte* target = samples + static_cast<size_t>(y) * window_row;
        const size_t bytes = static_cast<size_t>(count) * pixel_bytes;
        std::memcpy(target, source, bytes);
        replicate_last(target + bytes, pixel_bytes, replicated);
    });
}

void cut_window_to_f32(const Slab& slab, const Rect& window, const device::Conversion& conversion, float* values) {
    const int64_t channels = slab.pixels.channels + (conversion.sigma ? 1 : 0);
    const int64_t stride = window.extent.w * channels;
    const Rect part = intersection(window, {0, 0, slab.image});
    const Extent inside = part.extent;
    device::convert_rows_to_f32(slab.part(part), conversion, values, stride);
    for (int64_t y = 0; y < inside.h; ++y)
        replicate_last(reinterpret_cast<std::byte*>(values + y * stride + inside.w * channels),
                       static_cast<size_t>(channels) * sizeof(float), window.extent.w - inside.w);
    for (int64_t y = inside.h; y < window.extent.h; ++y)
        std::copy_n(values + (inside.h - 1) * stride, stride, values + y * stride);
}

void write_core(const std::byte* samples, const plan::Tile& tile, const Slab& slab) {
    const size_t pixel_bytes = slab.pixels.pixel_bytes();
    const Rect& core = tile.core;
    for (int64_t y = core.row; y < core.row + core.extent.h; ++y) {
        const int64_t offset = (y - tile.window.row) * tile.window.extent.w + (core.column - tile.window.column);
        std::memcpy(slab.at(y, core.column), samples + static_cast<size_t>(offset) * pixel_bytes,
                    static_cast<size_t>(core.extent.w) * pixel_bytes);
    }
}

void write_core_from_f32(const float* values, const plan::Tile& tile, const device::Conversion& conversion,
                         const Slab& slab) {
    const Rect& core = tile.core;
    const int64_t offset = (core.row - tile.window.row) * tile.window.extent.w + (core.column - tile.window.column);
    device::convert_rows_from_f32(values + offset * slab.pixels.channels, tile.window.extent.w * slab.pixels.channels,
                                  conversion, slab.part(core));
}

void poison(const Slab& slab, int local_rank, int local_size) {
    const Rect rows = share_of_rows(slab, local_rank, local_size);
    const size_t bytes = static_cast<size_t>(rows.extent.h) * slab.pixels.row_bytes;
    if (bytes == 0) return;
    std::byte* begin = slab.at(rows.row, 0);
    if (slab.pixels.dtype == DType::f32)
        std::fill_n(reinterpret_cast<float*>(begin), bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
    else
        std::memset(begin, 0xA5, bytes);
}

Slab StreamedWindows::read(const Rect& window) {
    const Extent image = source_.extent();
    const Rect part = intersection(window, {0, 0, image});
    const Slab slab = slab_of(part, image, source_.channels(), source_.dtype(), samples_);
    source_.read(part, slab.part(part));
    source_.add_noise_to(part, slab.part(part));
    return slab;
}

}  // namespace pb::run
